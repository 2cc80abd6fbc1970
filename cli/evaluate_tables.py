"""`sparc-search evaluate tables`: the shape of the paper's tables, with our models and corpora, by one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparc_search.settings import Settings

from .evaluate_output import OnTerminal, linked, page_option, shown_command, write_benchmarks
from .evaluate_report import draw
from .options import FOLDER, PATH, json_option, option, settings_options
from .terminal import result, result_json


@click.command()
@click.option("--squad", required=True, type=PATH, help="SQuAD's development set.")
@click.option("--corpus", multiple=True, required=True, type=PATH, help="What the answers are sought in. Repeatable.")
@click.option("--trec", type=PATH, help="CuratedTREC's test set (.tsv).")
@settings_options("engine", "encoder", "model", "threads")
@click.option("--pair-model", type=FOLDER, help="A model with SPARC, trained by the recipe of the next two.")
@click.option("--dense-only-model", type=FOLDER, help='A model trained without SPARC (`train --ngrams ""`).')
@click.option("--trigram-model", type=FOLDER, help="A model trained with trigrams (`train --ngrams 1,2,3`).")
@click.option("--reader", type=FOLDER, help="A reader (`evaluate train-reader`), for retrieve-and-read.")
@option("--read", default=30, type=click.IntRange(1), help="Passages the reader reads for a question.")
@option(
    "--reader-sample",
    default=300,
    type=click.IntRange(0),
    help="Questions the reader is asked, and paragraphs it reads closed, by chance (it is slow); 0 takes all.",
)
@option("--every", default=1, type=click.IntRange(1), help="Ask every n-th question of --squad in the open runs.")
@click.option(
    "--sample",
    default=0,
    type=click.IntRange(0),
    help="Ask so many of these, and as many paragraphs of the closed runs; 0 takes all.",
)
@option("--seed", default=0, help="Decides what chance decides.")
@click.option("--index", "ready", type=FOLDER, help="An index of the corpus by --model that is there already.")
@option(
    "--work",
    type=FOLDER,
    default=Path(".sparc-search/tables"),
    help="Folder for indexes and what was measured; a stopped run goes on there.",
)
@click.option("--plots", type=FOLDER, help="Folder for the plots (PNG).")
@click.option("--name", default="", help="Name of the corpus in the section of the page, if there are several.")
@page_option
@json_option
def tables(settings: Settings, plots: Path | None, name: str, page: Path | None, as_json: bool, **options: Any) -> None:
    """Measure what the paper's tables 1, 2, 3 and 5 show, each beside the paper's own numbers.

    Whatever is not given (a reader, a model trained without SPARC …) is marked as not measured. Every run is kept in
    --work, with a row for each question: `evaluate compare` and `evaluate report` take these files.
    """
    from sparc_search.evaluation.comparisons import comparison_table
    from sparc_search.evaluation.paper_runs import PaperPlan, PaperRuns
    from sparc_search.evaluation.runs_table import runs_table
    from sparc_search.evaluation.tables import page as tables_page

    work = PaperRuns(settings, PaperPlan(**options), shown_command(), OnTerminal())
    measured = work.measure_all()
    body = tables_page(measured, work.about(measured))
    body += f"\n\n### Paired comparisons\n\n{comparison_table(measured)}"
    body += f"\n\n### Every open run\n\n{runs_table([run for run in measured.values() if 'passage_recall' in run])}"
    section, title = ("tables", "The paper's tables") if not name else (f"tables-{name}", f"The paper's tables: {name}")
    drawn = draw(telling(measured), plots, section) if plots else []
    result_json({key: {**run, "rows": None} for key, run in measured.items()}) if as_json else result(body)
    pictures = "".join(f"\n\n![{path.stem}]({linked(path, page)})" for path in drawn)
    write_benchmarks(page, section, title, body + pictures)


def telling(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs that are drawn: of SQuAD's questions, the strategies, and the hybrid one without its parts."""
    asked = (run for name, run in measured.items() if name.startswith("squad/") and "passage_recall" in run)
    return [run for run in asked if not run.get("without") or run["strategy"] == "hybrid"]
