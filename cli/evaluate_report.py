"""`sparc-search evaluate report`: saved runs side by side, as a Markdown table and as plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sparc_search.errors import UsageError

from .evaluate_output import linked, page_option, write_benchmarks
from .options import FOLDER, PATH, option
from .terminal import note, result


@click.command()
@click.argument("reports", nargs=-1, required=True, type=PATH)
@click.option("--plots", type=FOLDER, help="Folder for the plots (PNG).")
@option("--name", default="runs", help="Name of the section of the page, and of the plots.")
@option("--title", default="Runs", help="Title of the section of the page.")
@page_option
def report(reports: tuple[Path, ...], plots: Path | None, name: str, title: str, page: Path | None) -> None:
    """Put saved runs side by side.

    REPORTS are files that `evaluate open --save` or `evaluate baseline --save` wrote. Prints a Markdown table; with
    --plots also accuracy against latency, recall, and the calibration curve of each run that has a confidence.
    """
    from sparc_search.evaluation.provenance import read_report
    from sparc_search.evaluation.runs_table import runs_table

    runs = [read_report(path) for path in reports]
    for path, run in zip(reports, runs, strict=True):
        if "passage_recall" not in run:
            raise UsageError(f"{path} is no report of an open run", "name files that `evaluate open --save` wrote")
    drawn = [*draw(runs, plots, name), *draw_calibration(runs, plots, name)] if plots else []
    body = runs_table(runs)
    result(body)
    commands = "\n".join(f"- `{run['command']}` on {run['machine']}" for run in runs)
    pictures = "".join(f"\n\n![{path.stem}]({linked(path, page)})" for path in drawn)
    write_benchmarks(page, name, title, f"{body}\n\n{commands}{pictures}")


def draw(runs: Sequence[dict[str, Any]], folder: Path, name: str) -> list[Path]:
    """The plots that hold the runs side by side."""
    from sparc_search.evaluation import plots
    from sparc_search.evaluation.runs_table import name_of

    answered = [run for run in runs if run["exact_match"] is not None]
    points = [
        plots.Point(name_of(run), run["seconds_per_question"], run["exact_match"], run["intervals"].get("exact_match"))
        for run in answered
    ]
    drawn = [plots.accuracy_against_latency(points, folder / f"{name}-latency.png")] if points else []
    for kind, key, among in (("answers", "rank", answered), ("passages", "passage_rank", runs)):
        ranks = {label: [row[key] for row in run["rows"]] for label, run in labelled(among)}
        if ranks:
            drawn.append(plots.recall_curves(ranks, folder / f"{name}-recall-{kind}.png"))
    return _told(drawn)


def draw_calibration(runs: Sequence[dict[str, Any]], folder: Path, name: str) -> list[Path]:
    """A plot for each run that says how sure it is."""
    from sparc_search.evaluation import plots
    from sparc_search.evaluation.calibration import RIGHT, bands_of

    drawn = []
    answered = [run for run in runs if run["exact_match"] is not None]
    for number, run in enumerate(answered, 1):
        sure = [(row["confidence"], row["f1"] >= RIGHT) for row in run["rows"] if row["confidence"] is not None]
        if sure:
            suffix = f"-{number}" if len(answered) > 1 else ""
            drawn.append(plots.calibration_curve(bands_of(sure), folder / f"{name}-calibration{suffix}.png"))
    return _told(drawn)


def _told(drawn: list[Path]) -> list[Path]:
    for path in drawn:
        note(f"wrote {path}")
    return drawn


def labelled(runs: Sequence[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Each run with a name of its own."""
    from sparc_search.evaluation.runs_table import name_of

    names = [name_of(run) for run in runs]
    return [
        (name if names.count(name) == 1 else f"{name} ({run['model']}, {run['data']})", run)
        for name, run in zip(names, runs, strict=True)
    ]
