"""An index as a whole, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from sparc_search.inspection import Histogram, IndexView
from sparc_search.stored import FeatureCount

from .bars import bar, columns
from .inspect_passage import COLOURS, readable
from .terminal import NARROW, bare_table, counted, numbers, stdout, styled


def show_index(view: IndexView) -> None:
    """Print counts, histograms, frequent features, the model, ingests and rejects."""
    console = stdout()
    console.print(_counts(view))
    console.print()
    console.print(_histograms(view, drawn=console.width >= NARROW))
    console.print(styled(f"of a sample of {counted(view.sample.passages, 'passage')}", "dim"))
    if any(view.frequent.values()):
        console.print()
        grid = Table.grid(padding=(0, 3 if console.width >= NARROW else 1, 0, 0))
        grid.add_row(*(_frequent(field, counts, console.width) for field, counts in view.frequent.items()))
        console.print(grid)
    console.print()
    console.print(_model(view))
    _show_ingests(console, view.ingests)
    _show_rejects(console, view.rejects)


def _counts(view: IndexView) -> Text:
    size = "" if view.bytes is None else f" · {view.bytes / 1e6:,.1f} MB"
    documents = "" if view.documents is None else f"{counted(view.documents, 'document')} · "
    kept = view.sample.kept
    return Text.assemble(
        styled(f"{documents}{counted(view.passages, 'passage')}{size}", "bold"),
        styled(f"  {view.engine}, state {view.snapshot}", "dim"),
        "\n",
        ("phrases start at ", "dim"),
        (f"{kept['start']:.0%}", COLOURS["start"]),
        (" of the tokens and end at ", "dim"),
        (f"{kept['end']:.0%}", COLOURS["end"]),
    )


def _histograms(view: IndexView, *, drawn: bool) -> Table:
    last = [Column("from 0 to the largest", no_wrap=True)] if drawn else []
    table = bare_table("how many, how much", *numbers("median", "largest", no_wrap=True), *last)
    sample = view.sample
    _add_histogram(table, "tokens of a passage", sample.tokens, "green")
    for histograms, name, form in (
        (sample.features, "{} features of a passage", ",.0f"),
        (sample.ngrams, "n-grams of one {} vector", ",.0f"),
        (sample.weights, "weights of {} features", ".2f"),
    ):
        for field, histogram in histograms.items():
            _add_histogram(table, name.format(field), histogram, COLOURS[field], form)
    return table


def _add_histogram(table: Table, name: str, histogram: Histogram, style: str, form: str = ",.0f") -> None:
    values = (format(value, form) for value in (histogram.median, histogram.largest))
    drawn = [columns(histogram.counts, style)] if len(table.columns) > 3 else []
    table.add_row(styled(name, style), *values, *drawn)


def _frequent(field: str, counts: Sequence[FeatureCount], width: int) -> Table:
    wide, room = width >= 100, 12 if width >= 100 else 6 if width >= NARROW else 0
    name = Column(f"most in {field}" if wide else f"in {field}", max_width=16 if wide else 9, no_wrap=True)
    colour = COLOURS[field]
    drawn = [""] if room else []
    table = bare_table(name, *numbers("", no_wrap=True), *drawn, header_style=f"bold {colour}", gap=1)
    top = counts[0].passages if counts else 1
    for feature in counts:
        bars = [bar(feature.passages / top, room, colour)] if room else []
        table.add_row(styled(readable(feature.name)), f"{feature.passages:,}", *bars)
    return table


def _model(view: IndexView) -> Text:
    said = [str(view.card[key]) for key in ("name", "base_model", "licence") if view.card.get(key)]
    return Text.assemble(styled("model  ", "bold"), styled(" · ".join([*said, view.model])))


def _show_ingests(console: Console, ingests: Sequence[Mapping[str, object]]) -> None:
    for run in ingests[:5]:
        kinds = ("indexed", "unchanged", "rejected", "deleted")
        counts = ", ".join(f"{run[kind]} {kind}" for kind in kinds if run.get(kind)) or "nothing new"
        console.print(Text.assemble(styled("ingest ", "bold"), styled(f"{run.get('when', '')}  {counts}")))


def _show_rejects(console: Console, rejects: Sequence[Mapping[str, str]]) -> None:
    for reject in rejects[:5]:
        why = f"{reject.get('source', '')}: {reject.get('reason', '')}"
        console.print(Text.assemble(styled("reject ", "bold red"), styled(why)))
    if len(rejects) > 5:
        console.print(styled(f"and {len(rejects) - 5} more", "dim"))
