"""A feature across the index, and lists of passages, in the terminal."""

from __future__ import annotations

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparc_search.inspection import FeatureView, FieldView, PassagesPage
from sparc_search.inspection.summaries import snippet

from .bars import bar, columns
from .inspect_passage import readable
from .terminal import stdout, styled

_COLOURS = {"start": "cyan", "end": "magenta", "lex": "yellow"}


def show_feature(view: FeatureView, field: str) -> None:
    """Print how often a feature stands and how its weights are spread, then the passages of one field."""
    console = stdout()
    console.print(Text.assemble(styled(readable(view.name), "bold"), styled(f"  of {view.passages:,} passages", "dim")))
    console.print()
    if not view.known:
        console.print(styled("No passage of the index has it.", "yellow"))
    else:
        console.print(_spread(view))
        for own in view.fields:
            if own.field == field and own.top:
                console.print()
                _show_top(own, min(console.width, 120))
    if view.related:
        console.print()
        console.print(styled("see also: " + " · ".join(map(readable, view.related)), "dim"))


def _spread(view: FeatureView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("field")
    for heading in ("passages", "share", "idf", "mean", "largest"):
        table.add_column(heading, justify="right")
    table.add_column("weights from 0 to the largest", no_wrap=True)
    for own in (own for own in view.fields if own.statistics.passages):
        found, style = own.statistics, _COLOURS[own.field]
        numbers = (
            f"{found.passages:,}",
            f"{own.share:.1%}",
            f"{own.idf:.2f}",
            f"{found.mean:.2f}",
            f"{found.largest:.2f}",
        )
        table.add_row(styled(own.field, style), *numbers, columns(found.counts, style))
    return table


def _show_top(own: FieldView, width: int) -> None:
    console = stdout()
    style = _COLOURS[own.field]
    console.print(styled(f"Where it weighs most ({own.field})", "bold"))
    largest = own.top[0].value
    for found in own.top:
        head = Text.assemble(
            (f"{found.value:6.2f} ", style),
            bar(found.value / largest, max(width // 8, 8), style),
            styled(f"  {found.passage.title or found.passage.document_id}", "bold"),
            styled(f"  {found.passage.id}", "dim"),
        )
        console.print(head, no_wrap=True, overflow="ellipsis")
        console.print(Padding(styled(found.snippet), (0, 0, 0, 7), expand=False))


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
        console.print(Padding(styled(snippet(passage.text, word)), (0, 0, 0, 4), expand=False))
    total = "" if view.total is None else f" of {view.total:,}"
    first = view.listing.offset + 1
    more = f"; --page {view.listing.offset // view.listing.size + 2} goes on" if view.more else ""
    console.print()
    console.print(styled(f"passages {first} to {first + len(view.passages) - 1}{total}{more}", "dim"))
