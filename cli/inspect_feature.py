"""A feature across the index, and lists of passages, in the terminal."""

from __future__ import annotations

from rich.table import Column, Table
from rich.text import Text

from sparc_search.inspection import FeatureView, FieldView, PassagesPage
from sparc_search.inspection.summaries import snippet

from .bars import bar, columns
from .inspect_passage import COLOURS, readable
from .terminal import NARROW, bare_table, counted, indented, numbers, stdout, styled


def show_feature(view: FeatureView, field: str) -> None:
    """Print how often a feature stands and how its weights are spread, then the passages of one field."""
    console = stdout()
    console.print(
        Text.assemble(styled(readable(view.name), "bold"), styled(f"  of {counted(view.passages, 'passage')}", "dim"))
    )
    console.print()
    if not view.known:
        console.print(styled("No passage of the index has it.", "yellow"))
    else:
        console.print(_spread(view, console.width))
        for shown in view.fields:
            if shown.field == field and shown.top:
                console.print()
                _show_top(shown, min(console.width, 120))
    if view.related:
        console.print()
        console.print(styled("see also: " + " · ".join(map(readable, view.related)), "dim"))


def _spread(view: FeatureView, width: int) -> Table:
    wide = width >= NARROW
    headings = numbers("passages" if wide else "in", "share", "idf", "mean", "largest", no_wrap=True)
    drawn = [Column("weights from 0 to the largest", no_wrap=True)] if wide else []
    table = bare_table("field", *headings, *drawn, gap=2 if wide else 1)
    for field in view.fields:
        statistics, style = field.statistics, COLOURS[field.field]
        if statistics.passages:
            weights = (f"{value:.2f}" for value in (field.idf, statistics.mean, statistics.largest))
            shares = f"{statistics.passages:,}", f"{field.share:.1%}"
            table.add_row(
                styled(field.field, style), *shares, *weights, *([columns(statistics.counts, style)] if wide else [])
            )
    return table


def _show_top(field: FieldView, width: int) -> None:
    console = stdout()
    style = COLOURS[field.field]
    console.print(styled(f"Where it weighs most ({field.field})", "bold"))
    largest = field.top[0].value
    for top in field.top:
        head = Text.assemble(
            (f"{top.value:6.2f} ", style),
            bar(top.value / largest, max(width // 8, 8), style),
            styled(f"  {top.passage.title or top.passage.document_id}", "bold"),
            styled(f"  {top.passage.id}", "dim"),
        )
        console.print(head, no_wrap=True, overflow="ellipsis")
        console.print(indented(styled(top.snippet), 7))


def show_found(view: PassagesPage) -> None:
    """Print a page of passages: id, title, and a line of each."""
    console = stdout()
    if not view.passages:
        console.print(styled("No passage fits.", "yellow"))
        return
    word = (view.listing.text.split() or [""])[0]
    for passage in view.passages:
        title = styled(passage.title or passage.document_id, "bold")
        console.print(Text.assemble((passage.id, "cyan"), "  ", title), no_wrap=True, overflow="ellipsis")
        console.print(indented(styled(snippet(passage.text, word))))
    total = "" if view.total is None else f" of {view.total:,}"
    first = view.listing.offset + 1
    more = f"; --page {view.listing.offset // view.listing.size + 2} goes on" if view.more else ""
    console.print()
    console.print(styled(f"passages {first} to {first + len(view.passages) - 1}{total}{more}", "dim"))
