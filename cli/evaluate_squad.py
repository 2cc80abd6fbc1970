"""`sparc-search evaluate squad`: answers sought in the question's own paragraph."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from sparc_search.settings import Settings

from .evaluate_output import OnTerminal, page_option, save_option, shown_command, write_benchmarks
from .options import PATH, json_option, option, settings_options
from .terminal import print_table, result, result_json


@click.command()
@click.argument("data", type=PATH)
@settings_options("encoder", "model", "threads")
@click.option("--sample", default=0, help="Paragraphs drawn by chance; 0 takes all.")
@option("--seed", default=0, help="Decides which.")
@click.option("--parts/--no-parts", default=True, help="Also switch each part of the score off in turn.")
@save_option
@page_option
@json_option
def squad(
    settings: Settings,
    data: Path,
    sample: int,
    seed: int,
    parts: bool,
    save: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Seek each answer in the question's own paragraph (closed).

    DATA is a file in SQuAD's format. Exact match and F1 as the official script defines them, in percent, with 95 %
    intervals (bootstrap over paragraphs).
    """
    from sparc_search.evaluation.closed import VARIANTS, collected, evaluate_closed, read_answerable, summarise
    from sparc_search.evaluation.provenance import provenance, write_report
    from sparc_search.opening import open_encoder

    paragraphs = read_answerable(data, sample, seed)
    encoder = open_encoder(settings)
    variants = list(VARIANTS) if parts else ["all parts"]
    began = time.monotonic()
    rows = collected(evaluate_closed(encoder, paragraphs, variants), len(paragraphs), OnTerminal())
    about: dict[str, Any] = {
        **provenance(shown_command(), data),
        "model": encoder.fingerprint,
        "encoder": settings.encoder,
        "paragraphs": len(paragraphs),
        "seconds": round(time.monotonic() - began, 1),
        **asdict(summarise(rows)),
    }
    if save:
        write_report(save, {**about, "rows": [asdict(row) for row in rows]})
    write_benchmarks(page, "closed", "Closed", as_markdown(about))
    result_json(about) if as_json else print_closed(about)


def score_rows(about: dict[str, Any]) -> list[tuple[str, ...]]:
    """Name, EM and F1 of each variant of the score."""
    from sparc_search.evaluation.runs_table import with_interval

    intervals = about["intervals"]
    return [
        (name, *(with_interval(scores[measure], intervals[name][measure]) for measure in ("exact_match", "f1")))
        for name, scores in about["scores"].items()
    ]


def as_markdown(about: dict[str, Any]) -> str:
    """The section of the page."""
    from sparc_search.evaluation.markdown import table

    text = f"{about['questions']:,} questions of {about['data']} ({about['data_sha256']}), model {about['model']}."
    return f"{text}\n\n{table(('score', 'EM', 'F1'), score_rows(about))}"


def print_closed(about: dict[str, Any]) -> None:
    """A table for people."""
    print_table(("score", "EM", "F1"), score_rows(about))
    result(f"{about['questions']:,} questions")
