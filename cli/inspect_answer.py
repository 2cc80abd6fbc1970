"""Why an answer won, in the terminal: two scores side by side, then the largest differences."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from sparc_search.inspection import AnswerView, Comparison, Difference, ExplainedAnswer
from sparc_search.records import Answer, Passage

from .answer_text import NO_ANSWER, in_its_sentence, shortened
from .bars import bar, both_ways
from .inspect_passage import readable
from .lines import colours
from .terminal import NARROW, bare_table, counted, indented, numbers, stdout, styled

_WITH_BARS = 70
"""Columns from which differences have bars."""
_PARTS = {
    "dense start": "blue",
    "dense end": "blue",
    "span": "blue",
    "passage": "blue",
    "sparse start": "cyan",
    "sparse end": "magenta",
    "lex": "yellow",
}


def show_answer(view: AnswerView, rank: int, top: int) -> None:
    """Print the answer of a rank and its runner-up, and what makes the difference."""
    console = stdout()
    console.print(styled(view.question.question, "bold"))
    if not view.answers:
        console.print(styled(NO_ANSWER, "yellow"))
        return
    chosen = view.answers[rank - 1]
    comparison = view.comparison
    shown = [chosen, *([view.answers[comparison.other - 1]] if comparison else [])]
    for number, answer in enumerate(shown):
        console.print()
        _show_one(console, answer, "green" if not number else "yellow")
    console.print()
    console.print(_scores(shown, comparison, min(console.width, 120)))
    if comparison:
        console.print()
        console.print(_headline(comparison, shown))
        ranks = (f"{comparison.rank}.", f"{comparison.other}.")
        console.print(difference_table(comparison.by_name, ranks, top, min(console.width, 120)))
    console.print()
    for what in view.degraded:
        console.print(styled(f"Answers may be missing: {what}", "red"))
    milliseconds = sum(view.seconds.values()) * 1000
    console.print(
        styled(f"{counted(view.candidates, 'passage')} scored, {view.strategy}, {milliseconds:.1f} ms", "dim")
    )


def _show_one(console: Console, answer: ExplainedAnswer, style: str) -> None:
    sure = "" if answer.confidence is None else f", confidence {answer.confidence:.0%}"
    retrievers = " and ".join(answer.roads)
    console.print(
        Text.assemble(
            styled(f"{answer.rank:>2}. ", "dim"),
            styled(shortened(answer.text), f"bold {style}"),
            styled(f"  score {answer.score:.2f}{sure}, proposed by {retrievers} search", "dim"),
        )
    )
    sentence = Text.assemble(*in_its_sentence(_as_answer(answer), marks=not colours()))
    console.print(indented(sentence))
    source = " · ".join(filter(None, (answer.passage.title, answer.passage.id)))
    console.print(indented(styled(source, "cyan")))


def _as_answer(found: ExplainedAnswer) -> Answer:
    passage = Passage(found.passage.id, found.passage.document_id, found.passage.number, found.passage.text)
    span = found.scored
    return Answer(span.text, found.score, passage, span.start, span.end, found.roads, found.parts)


def _scores(answers: Sequence[ExplainedAnswer], comparison: Comparison | None, width: int) -> Table:
    table = bare_table(Column("part", no_wrap=True))
    room = min(max((width - 14 - 10) // 2 - 9, 6), 28) if width >= NARROW else 0
    for answer in answers:
        table.add_column(styled(shortened(answer.text)), max_width=room + 8, no_wrap=True, overflow="ellipsis")
    if comparison:
        table.add_column("difference" if room else "±", justify="right", no_wrap=True)
    largest = max(abs(value) for answer in answers for value in answer.by_kind.values())
    for number, (kind, style) in enumerate(_PARTS.items()):
        cells = [_bar(list(answer.by_kind.values())[number], largest, room, style) for answer in answers]
        extra = [_signed(comparison.by_kind[number].difference)] if comparison else []
        table.add_row(styled(kind, style), *cells, *extra)
    sums = [styled(f"{answer.score:6.2f}", "bold") for answer in answers]
    table.add_row(styled("sum", "bold"), *sums, *([_signed(comparison.difference)] if comparison else []))
    return table


def _bar(value: float, largest: float, width: int, style: str) -> Text:
    drawn = bar(value / largest if largest else 0.0, width, style) if width else ""
    return Text.assemble((f"{value:6.2f} ", style), drawn)


def _signed(value: float) -> Text:
    return Text(f"{value:+.2f}", "green" if value > 0 else "red" if value < 0 else "dim")


def _headline(comparison: Comparison, shown: Sequence[ExplainedAnswer]) -> Text:
    mine, other = (shortened(answer.text) for answer in shown)
    return Text.assemble(
        styled("What makes the difference  ", "bold"),
        ("◀ ", "red"),
        styled(other, "dim"),
        "   ",
        styled(mine, "dim"),
        (" ▶", "green"),
    )


def difference_table(every: Sequence[Difference], names: tuple[str, str], top: int, width: int) -> Table:
    """The largest differences, with a bar each."""
    rows = every[:top]
    room = min(width - 60, 40) if width >= _WITH_BARS else 0
    table = bare_table(
        Column("part", no_wrap=room > 0),
        Column("n-gram", max_width=max(width // 4, 12), no_wrap=True, overflow="ellipsis"),
        *numbers(*names, "", no_wrap=True),
        *([Column(no_wrap=True)] if room else []),
        header_style="dim",
        gap=2 if room else 1,
    )
    largest = max((abs(row.difference) for row in rows), default=0.0)
    for row in rows:
        cells = _difference(row, largest, room)
        table.add_row(*(cells if room else cells[:-1]))
    return table


def _difference(row: Difference, largest: float, room: int) -> list[Text]:
    return [
        styled(row.kind, _PARTS[row.kind]),
        styled(readable(row.name) if row.name else ""),
        Text(f"{row.mine:.2f}"),
        Text(f"{row.other:.2f}"),
        _signed(row.difference),
        both_ways(row.difference / largest if largest else 0.0, room),
    ]
