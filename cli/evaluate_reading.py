"""`sparc-search evaluate reading`: fit a reader to the model it reads for."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from sparc_search.settings import Settings

from .evaluate_calibrate import band_rows
from .evaluate_output import OnTerminal
from .options import PATH, json_option, option, settings_options
from .terminal import print_table, result, result_json


@click.command("reading")
@click.argument("questions", type=PATH)
@settings_options("index", "engine", "encoder", "model", "read_with", "threads")
@click.option("--absent", type=PATH, help="Questions whose answers are not in the index.")
@option("--every", default=1, type=click.IntRange(1), help="Ask every n-th question.")
@click.option("--sample", default=0, type=click.IntRange(0), help="Ask so many of these, by chance; 0 asks all.")
@option("--passages", default=5, type=click.IntRange(1), help="Passages that are read for a question.")
@option("--seed", default=0, help="Decides what chance decides.")
@click.option("--write", is_flag=True, help="Write the fit into the card of --read-with.")
@json_option
def reading(
    settings: Settings,
    questions: Path,
    absent: Path | None,
    every: int,
    sample: int,
    passages: int,
    seed: int,
    write: bool,
    as_json: bool,
) -> None:
    """Fit a reader to a model, on questions neither was trained on.

    QUESTIONS have their answers in the index; those of --absent do not. Chosen are the weight of the exact score beside
    the reader's, and the confidence below which `--read auto` reads; and how sure an answer is that was read.
    """
    from sparc_search.cross_encoder.files import read_card, reader_folder, write_card
    from sparc_search.evaluation.questions import OpenQuestion, read_questions
    from sparc_search.evaluation.reading_fit import fit_reading
    from sparc_search.index import Index

    asked = read_questions(questions, every, sample=sample, seed=seed)
    without = read_questions(absent, every, sample=sample, seed=seed) if absent else []
    with Index.open(settings=settings) as index:
        nowhere = [OpenQuestion(question.id, question.text) for question in without]
        fitted = fit_reading(index, asked, nowhere, passages, OnTerminal())
    if write:
        folder = reader_folder(settings.read_with)
        card = replace(read_card(folder), serving=fitted.fit.as_card())
        write_card(folder, **{name: value for name, value in asdict(card).items() if name != "sha256"})
    if as_json:
        result_json(fitted)
        return
    by_weight = fitted.exact_match_by_weight.items()
    print_table(("weight", "exact match"), [(f"{weight:g}", f"{100 * right:.1f}") for weight, right in by_weight])
    result(
        f"never {100 * fitted.fast:.1f} · {passages} passages {100 * fitted.always:.1f} · auto {100 * fitted.auto:.1f}"
        f" (below {fitted.fit.below:g}; {100 * fitted.unread:.0f} % not read)"
    )
    print_table(("confidence", "answers", "said", "right"), band_rows(fitted.bands))
