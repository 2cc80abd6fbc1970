"""`sparc-search evaluate cost`: what a corpus costs as it grows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .evaluate_output import OnTerminal, linked, page_option, shown_command, write_benchmarks
from .options import FILE, FOLDER, PATH, json_option, option, settings_options
from .terminal import note, result, result_json

if TYPE_CHECKING:
    from sparc_search.evaluation.cost import CostPoint

_HEADERS = ("passages", "encoding, s", "tokens/s", "index, MB", "bytes a passage", "p50 ms", "p95 ms", "EM")


@click.command()
@click.option("--squad", required=True, type=PATH, help="Questions with their paragraphs (SQuAD).")
@click.option("--corpus", multiple=True, required=True, type=PATH, help="Paragraphs to grow with. Repeatable.")
@option("--sizes", default="1000,10000,50000,173000", help="Paragraphs of each corpus.")
@option("--questions", default=300, type=click.IntRange(1), help="Questions asked at each size.")
@option("--seed", default=0, help="Decides which.")
@settings_options("engine", "encoder", "model", "strategy", "threads")
@option(
    "--work",
    type=FOLDER,
    default=Path(".sparc-search/cost"),
    help="Folder for the index and what was measured; a stopped run goes on there.",
)
@click.option("--plot", type=FILE, help="Draw the curves (PNG).")
@page_option
@json_option
def cost(settings: Settings, squad: Path, corpus: tuple[Path, ...], sizes: str, **options: Any) -> None:
    """Measure what a corpus costs as it grows: encoding, size, latency, accuracy.

    One index grows through the sizes. The paragraphs of the questions are in the smallest, so the same questions are
    asked at each size; only the distractors become more.
    """
    from sparc_search.evaluation.cost import GrowingCorpus
    from sparc_search.opening import open_encoder

    encoder = open_encoder(settings)
    chosen = {name: options[name] for name in ("questions", "seed", "work")}
    growing = GrowingCorpus(settings, encoder, squad, corpus, sizes_of(sizes), **chosen, watcher=OnTerminal())
    points = []
    for point in growing.points():
        note(f"{point.passages:,} passages: EM {point.exact_match:.1f}")
        points.append(point)
    show(points, squad, encoder.fingerprint, options)


def sizes_of(text: str) -> list[int]:
    """Growing numbers."""
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--sizes takes numbers such as 1000,10000, not {text!r}") from error
    if sizes != sorted(set(sizes)) or sizes[0] < 1:
        raise UsageError(f"--sizes must grow, and {text!r} does not")
    return sizes


def show(points: list[CostPoint], squad: Path, model: str, options: dict[str, Any]) -> None:
    """Table, plot, page."""
    from sparc_search.evaluation.markdown import table
    from sparc_search.evaluation.plots import cost_curves
    from sparc_search.evaluation.provenance import provenance

    about = f"{points[0].questions:,} questions of {squad.name}, model {model}."
    body = f"{about}\n\n{table(_HEADERS, [row(point) for point in points])}"
    if options["plot"]:
        picture = cost_curves(points, options["plot"])
        body += f"\n\n![cost against the size of the corpus]({linked(picture, options['page'])})"
    write_benchmarks(options["page"], "cost", "Cost against the size of the corpus", body)
    record = {**provenance(shown_command(), squad), "model": model, "points": points}
    result_json(record) if options["as_json"] else result(body)


def row(point: CostPoint) -> tuple[str, ...]:
    """One size in the table."""
    from sparc_search.evaluation.runs_table import with_interval

    return (
        f"{point.passages:,}",
        f"{point.encode_seconds:,.0f}",
        f"{point.tokens / max(1e-9, point.encode_seconds):,.0f}",
        f"{point.index_bytes / 1e6:,.1f}",
        f"{point.index_bytes / max(1, point.passages):,.0f}",
        f"{1000 * point.seconds_p50:.1f}",
        f"{1000 * point.seconds_p95:.1f}",
        with_interval(point.exact_match, point.interval),
    )
