"""An index as a whole, in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparc_search.inspection import Histogram, IndexView
from sparc_search.stored import FeatureCount

from .bars import bar, columns
from .inspect_passage import readable
from .terminal import stdout, styled

_COLOURS = {"start": "cyan", "end": "magenta", "lex": "yellow"}


def show_index(view: IndexView) -> None:
    """Print counts, histograms, frequent features, the model, ingests and rejects."""
    console = stdout()
    console.print(_counts(view))
    console.print()
    console.print(_histograms(view))
    console.print(styled(f"of a sample of {view.sample.passages:,} passages", "dim"))
    if any(view.frequent.values()):
        console.print()
        grid = Table.grid(padding=(0, 3, 0, 0))
        grid.add_row(*(_frequent(field, found, wide=console.width >= 100) for field, found in view.frequent.items()))
        console.print(grid)
    console.print()
    console.print(_model(view))
    _show_ingests(console, view.ingests)
    _show_rejects(console, view.rejects)


def _counts(view: IndexView) -> Text:
    size = "" if view.bytes is None else f" · {view.bytes / 1e6:,.1f} MB"
    documents = "" if view.documents is None else f"{view.documents:,} documents · "
    kept = view.sample.kept
    return Text.assemble(
        styled(f"{documents}{view.passages:,} passages{size}", "bold"),
        styled(f"  {view.engine}, state {view.snapshot}", "dim"),
        "\n",
        ("phrases start at ", "dim"),
        (f"{kept['start']:.0%}", _COLOURS["start"]),
        (" of the tokens and end at ", "dim"),
        (f"{kept['end']:.0%}", _COLOURS["end"]),
    )


def _histograms(view: IndexView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("how many, how much")
    for heading in ("median", "largest"):
        table.add_column(heading, justify="right")
    table.add_column("from 0 to the largest", no_wrap=True)
    sample = view.sample
    _histogram(table, "tokens of a passage", sample.tokens, "green", "d")
    for field, found in sample.features.items():
        _histogram(table, f"{field} features of a passage", found, _COLOURS[field], "d")
    for side, found in sample.ngrams.items():
        _histogram(table, f"n-grams of one {side} vector", found, _COLOURS[side], "d")
    for field, found in sample.weights.items():
        _histogram(table, f"weights of {field} features", found, _COLOURS[field], "f")
    return table


def _histogram(table: Table, name: str, found: Histogram, style: str, kind: str) -> None:
    numbers = [f"{value:,.0f}" if kind == "d" else f"{value:.2f}" for value in (found.median, found.largest)]
    table.add_row(styled(name, style), *numbers, columns(found.counts, style))


def _frequent(field: str, found: Sequence[FeatureCount], *, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style=f"bold {_COLOURS[field]}")
    table.add_column(f"most in {field}" if wide else f"in {field}", max_width=16 if wide else 9, no_wrap=True)
    table.add_column(justify="right")
    table.add_column()
    top = found[0].passages if found else 1
    for feature in found:
        table.add_row(
            styled(readable(feature.name)),
            f"{feature.passages:,}",
            bar(feature.passages / top, 12 if wide else 6, _COLOURS[field]),
        )
    return table


def _model(view: IndexView) -> Text:
    said = [str(view.card[key]) for key in ("name", "base_model", "licence") if view.card.get(key)]
    return Text.assemble(styled("model  ", "bold"), styled(" · ".join([*said, view.model])))


def _show_ingests(console: Console, ingests: Sequence[Mapping[str, object]]) -> None:
    for run in ingests[:5]:
        counts = ", ".join(
            f"{run[key]} {key}" for key in ("indexed", "unchanged", "rejected", "deleted") if run.get(key)
        )
        console.print(
            Text.assemble(styled("ingest ", "bold"), styled(f"{run.get('when', '')}  {counts or 'nothing new'}"))
        )


def _show_rejects(console: Console, rejects: Sequence[Mapping[str, str]]) -> None:
    for reject in rejects[:5]:
        console.print(
            Text.assemble(
                styled("reject ", "bold red"), styled(f"{reject.get('source', '')}: {reject.get('reason', '')}")
            )
        )
    if len(rejects) > 5:
        console.print(styled(f"and {len(rejects) - 5} more", "dim"))
