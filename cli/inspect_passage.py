"""A passage in the terminal: its words shaded by weight, and the table of n-grams."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from sparc_search.inspection import NgramRow, PassageView, Selection, Token
from sparc_search.ngrams import parse_feature

from .bars import bar, legend, shaded
from .terminal import bare_table, numbers, stdout, styled

COLOURS = {"start": "cyan", "end": "magenta", "tfidf": "yellow", "lex": "yellow"}
_CHOSEN = "bold black on yellow"


def show_passage(view: PassageView, top: int, *, listed: bool = False) -> None:
    """Print a passage and the weights of the selected phrase, or of all its phrases at most."""
    console = stdout()
    console.print(_heading(view))
    for line in _where_from(view):
        console.print(styled(line, "dim"), no_wrap=True, overflow="ellipsis")
    console.print()
    console.print(Padding(_text(view, marks=console.no_color or not console.is_terminal), (0, 2)))
    console.print()
    console.print(_what_is_shaded(view))
    if listed:
        console.print()
        console.print(_token_table(view))
        return
    if view.selection:
        _show_selection(console, view.selection)
    else:
        console.print(_kept(view))
    console.print()
    rows = (view.selection or view).ngrams
    console.print(ngram_table(rows[:top], console.width, sides=view.sides))
    _show_rest(console, rows, top)
    if view.tfidf:
        best = " · ".join(readable(term.name) for term in view.tfidf[:8])
        console.print(Text.assemble(styled("by tf-idf alone: ", "dim"), styled(best, COLOURS["tfidf"])))


def _heading(view: PassageView) -> Text:
    return Text.assemble(
        styled(view.passage.title or view.passage.document_id, "bold"),
        styled(f"  passage {view.passage.number}", "dim"),
    )


def _where_from(view: PassageView) -> list[str]:
    passage = view.passage
    tags = " · ".join(f"{key}={value}" for key, value in passage.metadata.items())
    return [line for line in (passage.id, passage.source, tags) if line]


def _text(view: PassageView, *, marks: bool) -> Text:
    """The title's tokens, if it was read, then the text with every token in its shade."""
    colour = COLOURS[view.sides[0]] if len(view.sides) == 1 else "green"
    shares = shares_of(view)
    chosen = range(view.selection.first, view.selection.last + 1) if view.selection else range(0)
    title = [token for token in view.tokens if token.title and not token.piece.startswith("[")]
    pieces = [(_spaced(token), shares[token.number], _CHOSEN if token.number in chosen else "") for token in title]
    if pieces:
        pieces.append(("  ", 0.0, "none"))
    at = 0
    for token in view.tokens:
        if token.title:
            continue
        begins = marks and bool(chosen) and token.number == chosen.start
        ends = marks and bool(chosen) and token.number == chosen.stop - 1
        inside = token.number in chosen and token.number != chosen.start
        pieces.append((view.passage.text[at : token.start], 0.0, _CHOSEN if inside else "none"))
        word = "[" * begins + view.passage.text[token.start : token.end] + "]" * ends
        pieces.append((word, shares[token.number], _CHOSEN if token.number in chosen else ""))
        at = token.end
    pieces.append((view.passage.text[at:], 0.0, "none"))
    return shaded(pieces, colour)


def _spaced(token: Token) -> str:
    return token.piece.removeprefix("##") if token.continues else f" {token.piece}"


def shares_of(view: PassageView) -> list[float]:
    """For each token the sum of its weights as a share of the largest sum: for the selected phrase, or for any.

    A word is shaded by its own weights; a pair shades its words only where no single ones are shown.
    """
    n = min(view.sizes, default=1)
    sums = [0.0] * len(view.tokens)
    for side in view.sides:
        own = [_weight(view, token, f"{side}_{n}") for token in view.tokens]
        for token in view.tokens:
            sums[token.number] += max(own[max(token.number - n + 1, 0) : token.number + 1])
    top = max(sums, default=0.0)
    return [weight / top if top else 0.0 for weight in sums]


def _weight(view: PassageView, token: Token, key: str) -> float:
    """What the n-gram that begins at a token weighs."""
    if view.selection is None:
        return token.weights.get(key, 0.0)
    weights: Sequence[float] = view.selection.weights.get(key, ())
    return weights[token.number] if token.number < len(weights) else 0.0


def _what_is_shaded(view: PassageView) -> Text:
    colour = COLOURS[view.sides[0]] if len(view.sides) == 1 else "green"
    what = " and ".join(view.sides)
    return Text.assemble(legend(colour), styled(f"  of the largest weight, {what}", "dim"))


def _kept(view: PassageView) -> Text:
    count = sum(not token.title for token in view.tokens)
    return styled(f"{count} tokens; phrases start at {view.kept_starts} of them and end at {view.kept_ends}", "dim")


def _show_selection(console: Console, selection: Selection) -> None:
    state = ("indexed", "green") if selection.indexed else ("not indexed", "bold red")
    console.print()
    console.print(Text.assemble(styled(f" {selection.text} ", _CHOSEN), "  ", state))
    for boundary in selection.boundaries:
        style = COLOURS[boundary.side]
        console.print(Text.assemble(styled(f"  {boundary.side:<6}", style), f"token {boundary.token}: {boundary.note}"))


def ngram_table(rows: Sequence[NgramRow], width: int, *, sides: Sequence[str] = ("start", "end")) -> Table:
    """N-grams with a bar for each side, and tf-idf beside them."""
    names = min(max([len(row.name) for row in rows] + [6]), max(width // 4, 12))
    table = bare_table(Column("n-gram", max_width=names, no_wrap=True, overflow="ellipsis"))
    room = max(min((min(width, 120) - names - 2) // (len(sides) + 1) - 9, 24), 5)
    largest = {side: max((getattr(row, side) for row in rows), default=0.0) for side in sides}
    largest["tfidf"] = max((row.tfidf or 0.0 for row in rows), default=0.0)
    for name in (*sides, "tf-idf"):
        table.add_column(name, style=COLOURS[name.replace("-", "")], no_wrap=True)
    for row in rows:
        cells = [_cell(getattr(row, side), largest[side], room, COLOURS[side]) for side in sides]
        table.add_row(styled(readable(row.name)), *cells, _cell(row.tfidf, largest["tfidf"], room, COLOURS["tfidf"]))
    return table


def readable(name: str) -> str:
    """A feature's pieces as they are, `small .` for `small %2E`."""
    return " ".join(parse_feature(name))


def _cell(value: float | None, largest: float, width: int, style: str) -> Text:
    if value is None:
        return Text("")
    if not value:
        return Text("   ·", "dim")
    return Text.assemble((f"{value:5.2f} ", style), bar(value / largest if largest else 0.0, width, style))


def _token_table(view: PassageView) -> Table:
    table = bare_table(*numbers("token"), "piece", "phrases")
    matrices = {f"{side}_{n}": COLOURS[side] for side in view.sides for n in view.sizes}
    for key, colour in matrices.items():
        table.add_column(key.replace("_", " "), style=colour, no_wrap=True)
    for token in view.tokens:
        weights = [
            _cell(token.weights.get(key, 0.0), view.largest.get(key, 0.0), 5, colour)
            for key, colour in matrices.items()
        ]
        table.add_row(str(token.number), styled(token.piece), _phrases(token), *weights)
    return table


def _phrases(token: Token) -> Text:
    if token.title:
        return Text("title", "dim")
    text = Text()
    text.append("start " if token.kept_start else "      ", COLOURS["start"])
    return text.append("end" if token.kept_end else "   ", COLOURS["end"])


def _show_rest(console: Console, rows: Sequence[NgramRow], top: int) -> None:
    if len(rows) > top:
        console.print(styled(f"and {len(rows) - top} more (--top {len(rows)})", "dim"))
    if not rows:
        console.print(styled("no n-gram weighs anything here", "yellow"))
