"""Why this and not that, in the terminal: the question, two passages painted with what it pays for, the difference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sparc_search.inspection import Choice, QuestionView, ScoredPhrase, WhyView
from sparc_search.inspection.verdict import GROUPS, by_group, quoted
from sparc_search.records import ReadLogits
from sparc_search.sentences import sentence_around

from .bars import shade
from .further_index import named, opened
from .inspect_answer import difference_table
from .inspect_passage import COLOURS, readable
from .lines import colours
from .terminal import bare_table, numbers, stdout, styled

if TYPE_CHECKING:
    from sparc_search.index import Index
    from sparc_search.settings import Settings

_INDEX, _PASSAGE = "index:", "passage:"


def other_choice(against: str) -> Choice | None:
    """What `--against` means."""
    if not against:
        return None
    if re.fullmatch("[1-9][0-9]?", against):
        return Choice(answer=int(against))
    if against == "tfidf":
        return Choice(tfidf=True)
    if against.startswith(_PASSAGE):
        return Choice(passage=against.removeprefix(_PASSAGE))
    if against.startswith(_INDEX):
        return Choice(index=named(against.removeprefix(_INDEX))[0])
    return Choice(phrase=against)


@contextmanager
def further_index(settings: Settings, against: str) -> Iterator[Mapping[str, Index]]:
    """The second index that `--against` names, if it names one."""
    if not against.startswith(_INDEX):
        yield {}
        return
    name, index = opened(settings, against.removeprefix(_INDEX))
    with index:
        yield {name: index}


def show_why(view: WhyView, top: int) -> None:
    """Print both phrases with what pays for them, the difference, and the verdict."""
    console = stdout()
    console.print(_question(view.question))
    if view.verdict:
        console.print()
        console.print(styled(view.verdict.sentence, "bold"))
        console.print(styled(view.verdict.remedy, "dim"))
    for letter, phrase, style in (("A", view.a, "green"), ("B", view.b, "yellow")):
        if phrase:
            console.print()
            _show_phrase(console, letter, phrase, style)
    if view.contrast and view.b:
        console.print()
        console.print(_groups(view.a, view.b))
        console.print()
        console.print(difference_table(view.contrast.by_name, ("A", "B"), top, min(console.width, 120)))
    loser = quoted(view.b if view.b and view.verdict and view.verdict.winner == "a" else view.a)
    for cure in view.cures:
        most = " or more" if cure.most is None else f" to {cure.most:.2f}"
        told = f"{loser} would be first of the answers with the {cure.part} part at {cure.least:.2f}{most}"
        console.print(styled(told, "dim"))
    for what in view.degraded:
        console.print(styled(f"Answers may be missing: {what}", "red"))


def _question(question: QuestionView) -> Text:
    """The question, each word in the shade of its own weights."""
    if not question.pieces:
        return styled(question.question, "bold")
    most = max(piece.start + piece.end for piece in question.pieces) or 1.0
    text, at = Text(), 0
    whole = question.question.strip()
    for piece in question.pieces:
        text.append_text(styled(whole[at : piece.at]))
        text.append_text(styled(piece.text, shade((piece.start + piece.end) / most, "green") if colours() else "bold"))
        at = piece.at + len(piece.text)
    return text.append_text(styled(whole[at:]))


def _show_phrase(console: Console, letter: str, phrase: ScoredPhrase, style: str) -> None:
    said = [f"score {phrase.score:.2f}", f"answer {phrase.rank}" if phrase.rank else "not an answer"]
    said += ["by tf-idf"] if phrase.method == "tfidf" else []
    said += [f"in {phrase.index}"] if phrase.index else []
    said += [] if phrase.indexed else ["not indexed: encoded just now"]
    said += [_read(phrase.read_logits)] if phrase.read_logits else []
    head = Text.assemble(styled(f"{letter}  ", "dim"), styled(" ".join(phrase.text.split()), f"bold {style}"))
    console.print(head.append_text(styled(f"  {', '.join(said)}", "dim")))
    console.print(Padding(painted(phrase, marks=not colours()), (0, 0, 0, 3)))
    paid = paid_for(phrase)
    console.print(Padding(styled(paid, COLOURS["lex"] if phrase.method == "tfidf" else "cyan"), (0, 0, 0, 3)))
    title = " · ".join(filter(None, (phrase.passage.title, phrase.passage.id)))
    console.print(Padding(styled(title, "dim"), (0, 0, 0, 3)))


def _read(logits: ReadLogits) -> str:
    return f"reader {logits.score:.2f} (no answer here {logits.nothing:.2f})"


def painted(phrase: ScoredPhrase, *, marks: bool) -> Text:
    """The sentence around the phrase: the phrase highlighted, what pays for it underlined (without colours: `_so_`)."""
    begin, end = sentence_around(phrase.passage.text, phrase.start, phrase.end, ())
    paying = {at for mark in phrase.marks for at in range(mark.piece, mark.piece + mark.n)}
    text, at, body = Text(), begin, phrase.passage.text
    for number, piece in enumerate(phrase.pieces):
        if piece.title or piece.start < begin or piece.end > end:
            continue
        inside = phrase.first <= number <= phrase.last
        text.append_text(
            styled(" ".join(body[at : piece.start].split("\n")), "reverse" if inside and number != phrase.first else "")
        )
        word = body[piece.start : piece.end]
        if marks:
            word = (
                "[" * (number == phrase.first)
                + (f"_{word}_" if number in paying else word)
                + "]" * (number == phrase.last)
            )
        style = "bold reverse" if inside else "bold underline cyan" if number in paying else ""
        text.append_text(styled(word, style))
        at = piece.end
    return text.append_text(styled(body[at:end].rstrip()))


def paid_for(phrase: ScoredPhrase) -> str:
    """The n-grams that pay, with their points for start and end together, the largest first."""
    points: dict[str, float] = {}
    for mark in phrase.marks:
        points[mark.name] = points.get(mark.name, 0.0) + mark.start + mark.end + mark.lex
    ranked = sorted(points.items(), key=lambda item: (-item[1], item[0]))
    return (
        "  ".join(f"{readable(name)} {value:+.2f}" for name, value in ranked) or "no n-gram of the question pays for it"
    )


def _groups(a: ScoredPhrase, b: ScoredPhrase) -> object:
    table = bare_table("", *numbers("A", "B", "difference"))
    mine, other = by_group(a.by_kind), by_group(b.by_kind)
    for group in GROUPS:
        table.add_row(group, f"{mine[group]:.2f}", f"{other[group]:.2f}", f"{mine[group] - other[group]:+.2f}")
    table.add_row("score", f"{a.score:.2f}", f"{b.score:.2f}", f"{a.score - b.score:+.2f}", style="bold")
    return table
