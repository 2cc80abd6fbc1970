"""`sparc-search evaluate calibrate`: fit how sure an answer is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .evaluate_output import page_option, write_benchmarks
from .options import FILE, PATH, json_option, option, settings_options
from .terminal import print_table, result, result_json

if TYPE_CHECKING:
    from sparc_search.evaluation.calibration import Band
    from sparc_search.evaluation.refusing import Refusing
    from sparc_search.index import Index
    from sparc_search.search.confidence import Calibration

_HEADERS = ("confidence", "answers", "said", "right")
_REFUSING = ("least confidence", "right, called a guess", "wrong, shown", "not there, shown")


@click.command()
@click.argument("questions", type=PATH)
@settings_options("index", "encoder", "model", "threads")
@click.option("--absent", type=PATH, help="Questions whose answers are not in the index.")
@option("--every", default=1, type=click.IntRange(1), help="Ask every n-th question.")
@click.option("--as-is", is_flag=True, help="Fit nothing: measure the confidence that the model gives.")
@click.option("--write", is_flag=True, help="Write the fit into the card of --model.")
@click.option("--plot", type=FILE, help="Draw the calibration curve (PNG).")
@page_option
@json_option
def calibrate(
    settings: Settings,
    questions: Path,
    absent: Path | None,
    every: int,
    as_is: bool,
    write: bool,
    plot: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Fit how sure an answer is, on questions the model was not trained on.

    QUESTIONS have their answers in the index; those of --absent do not. With --write, `ask` shows a confidence. The
    second table is for the setting `min_confidence`: how many right answers it would call a guess, and how many others
    it would let through.
    """
    from sparc_search.evaluation.calibration import calibrate as fitted
    from sparc_search.evaluation.calibration import calibration_error, observe_in, reliability
    from sparc_search.evaluation.markdown import table
    from sparc_search.evaluation.questions import OpenQuestion, read_questions
    from sparc_search.evaluation.refusing import refusing
    from sparc_search.index import Index

    if as_is and write:
        raise UsageError("--as-is fits nothing that --write could write", "give one of them")
    asked = read_questions(questions, every)
    if absent:
        asked += [OpenQuestion(question.id, question.text) for question in read_questions(absent, every)]
    with Index.open(settings=settings) as index:
        replies = index.ask_many((question.text for question in asked), k=50, unit="phrase", all=True)
        seen = [observed for observed in observe_in(index, asked, replies) if observed]
        calibration = calibration_of(index) if as_is else fitted(seen)
    bands = reliability(calibration, seen)
    error = round(calibration_error(bands), 4)
    if write:
        write_into_card(settings.model, calibration)
    if plot:
        from sparc_search.evaluation.plots import calibration_curve

        calibration_curve(bands, plot)
    thresholds = refusing(calibration, seen)
    about = f"{len(seen):,} questions of {questions.name}; expected calibration error {error:.3f}."
    tables = f"{table(_HEADERS, band_rows(bands))}\n\n{table(_REFUSING, refusing_rows(thresholds))}"
    write_benchmarks(page, "calibration", "Calibration", f"{about}\n\n{tables}")
    if as_json:
        card = calibration.as_card()
        about_fit = {"confidence": card, "questions": len(seen), "calibration_error": error}
        result_json({**about_fit, "bands": bands, "thresholds": thresholds})
        return
    print_table(_HEADERS, band_rows(bands))
    result("")
    print_table(_REFUSING, refusing_rows(thresholds))


def calibration_of(index: Index) -> Calibration:
    """The calibration of the index's model."""
    from sparc_search.search.confidence import from_card

    calibration = from_card(index.encoder.card)
    if calibration is None:
        raise UsageError("this model gives no confidence", "leave out --as-is to fit one")
    return calibration


def refusing_rows(thresholds: list[Refusing]) -> list[tuple[str, ...]]:
    """One row for each least confidence."""
    return [
        (f"{row.threshold:.2f}", f"{row.refused_right:.1%}", f"{row.shown_wrong:.1%}", f"{row.shown_absent:.1%}")
        for row in thresholds
    ]


def band_rows(bands: list[Band]) -> list[tuple[str, ...]]:
    """One row for each band."""
    return [
        (f"{band.low:.1f}-{band.high:.1f}", str(band.answers), f"{band.mean_confidence:.2f}", f"{band.right:.2f}")
        for band in bands
    ]


def write_into_card(model: str, calibration: Calibration) -> None:
    """The fit goes where the encoder looks for it."""
    from sparc_search.model.files import open_model, read_card, write_card

    folder = open_model(model).path
    card = {name: value for name, value in read_card(folder).items() if name != "sha256"}
    write_card(folder, {**card, "confidence": calibration.as_card()})
