"""`sparc-search evaluate`: how good the answers are, measured on the path that serves them."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.settings import Settings

from .options import json_option, settings_options
from .terminal import print_table, progress, result, result_json, styled

if TYPE_CHECKING:
    from sparc_search.evaluation.closed import ClosedReport


@click.group()
def evaluate() -> None:
    """Measure how good the answers are."""


@evaluate.command()
@click.argument("data", type=click.Path(path_type=Path))
@settings_options("encoder", "model", "threads")
@click.option("--sample", default=0, help="Paragraphs drawn by chance; 0 takes all.")
@click.option("--seed", default=0, show_default=True, help="Decides which.")
@click.option("--parts/--no-parts", default=True, help="Also switch each part of the score off in turn.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the report and a row for each question as JSON.")
@json_option
def squad(
    settings: Settings, data: Path, sample: int, seed: int, parts: bool, save: Path | None, as_json: bool
) -> None:
    """Seek each answer in the question's own paragraph (closed).

    DATA is a file in SQuAD's format. Exact match and F1 as the official script defines them, in percent.
    """
    from sparc_search.evaluation.closed import VARIANTS, evaluate_closed, read_paragraphs, summarise
    from sparc_search.index import open_encoder

    paragraphs = read_paragraphs(data, sample, seed)
    encoder = open_encoder(settings)
    variants = list(VARIANTS) if parts else ["all parts"]
    rows = []
    began = time.monotonic()
    with progress() as bar:
        task = bar.add_task("evaluating", total=len(paragraphs))
        for some in evaluate_closed(encoder, paragraphs, variants):
            rows += some
            bar.advance(task)
    report = summarise(rows)
    about = {
        "data": data.name,
        "model": encoder.fingerprint,
        "encoder": settings.encoder,
        "paragraphs": len(paragraphs),
        "seconds": round(time.monotonic() - began, 1),
        **asdict(report),
    }
    if save:
        write_json(save, {**about, "rows": [asdict(row) for row in rows]})
    result_json(about) if as_json else print_closed(report)


@evaluate.command("open")
@click.argument("questions", type=click.Path(path_type=Path))
@settings_options(
    "index", "encoder", "model", "strategy", "sparse_candidates", "dense_candidates", "lex_weight", "threads"
)
@click.option("--every", default=1, show_default=True, type=click.IntRange(1), help="Ask every n-th question.")
@click.option(
    "--without", multiple=True, type=click.Choice(("sparc", "lex", "dense")), help="Switch a part of the score off."
)
@click.option("--save", type=click.Path(path_type=Path), help="Write the report and a row for each question as JSON.")
@json_option
def open_domain(
    settings: Settings, questions: Path, every: int, without: tuple[str, ...], save: Path | None, as_json: bool
) -> None:
    """Seek each answer in a whole index (open).

    QUESTIONS is a file in SQuAD's format, JSON lines with `question` and `answer`, or CuratedTREC's .tsv with regular
    expressions.
    """
    from sparc_search.evaluation.open_domain import CUTS, judge, read_questions, summarise
    from sparc_search.evaluation.switched_off import SwitchedOff
    from sparc_search.index import Index, open_encoder

    asked = read_questions(questions, every)
    encoder = open_encoder(settings)
    rows = []
    with Index.open(settings=settings, encoder=SwitchedOff(encoder, without)) as index, progress() as bar:
        task = bar.add_task("asking", total=len(asked))
        began = time.monotonic()
        for question, reply in zip(asked, index.ask_many((q.text for q in asked), k=max(CUTS)), strict=True):
            rows.append(judge(question, reply))
            bar.advance(task)
        report = summarise(rows, time.monotonic() - began)
        passages = index.store.statistics([]).passages
    about = {
        "data": questions.name,
        "passages": passages,
        "model": encoder.fingerprint,
        "strategy": settings.strategy,
        "without": list(without),
        **asdict(report),
    }
    if save:
        write_json(save, {**about, "rows": [asdict(row) for row in rows]})
    result_json(about) if as_json else print_open(about)


@evaluate.command()
@click.argument("questions", type=click.Path(path_type=Path))
@settings_options("index", "encoder", "model", "threads")
@click.option("--absent", type=click.Path(path_type=Path), help="Questions whose answers are not in the index.")
@click.option("--every", default=1, show_default=True, type=click.IntRange(1), help="Ask every n-th question.")
@click.option("--write", is_flag=True, help="Write the fit into the card of --model.")
@json_option
def calibrate(settings: Settings, questions: Path, absent: Path | None, every: int, write: bool, as_json: bool) -> None:
    """Fit how sure an answer is, on questions the model was not trained on.

    QUESTIONS have their answers in the index; those of --absent do not. With --write, `ask` shows a confidence.
    """
    from sparc_search.evaluation.calibration import calibrate as fitted
    from sparc_search.evaluation.calibration import observe, reliability
    from sparc_search.evaluation.open_domain import OpenQuestion, read_questions
    from sparc_search.index import Index
    from sparc_search.model.files import open_model, read_card, write_card

    asked = read_questions(questions, every)
    if absent:
        asked += [OpenQuestion(question.id, question.text) for question in read_questions(absent, every)]
    with Index.open(settings=settings) as index:
        replies = index.ask_many((question.text for question in asked), k=50)
        seen = [one for pair in zip(asked, replies, strict=True) if (one := observe(*pair))]
    calibration = fitted(seen)
    bands = reliability(calibration, seen)
    if write:
        folder = open_model(settings.model).path
        card = {name: value for name, value in read_card(folder).items() if name != "sha256"}
        write_card(folder, {**card, "confidence": calibration.as_card()})
    if as_json:
        result_json({"confidence": calibration.as_card(), "questions": len(seen), "bands": bands})
        return
    rows = [
        (f"{band.low:.1f}-{band.high:.1f}", band.answers, f"{band.mean_confidence:.2f}", f"{band.right:.2f}")
        for band in bands
    ]
    print_table(("confidence", "answers", "said", "right"), [tuple(styled(cell) for cell in row) for row in rows])


def print_open(about: dict[str, Any]) -> None:
    """A table for people."""
    recall = [(f"right among {cut[1:]}", f"{share:.1f}") for cut, share in about["answer_recall"].items()]
    rows = [
        ("EM", f"{about['exact_match']:.1f}"),
        ("F1", f"{about['f1']:.1f}"),
        *recall,
        ("MRR", f"{about['mean_reciprocal_rank']:.3f}"),
        ("ms a question", f"{1000 * about['seconds_per_question']:.1f}"),
    ]
    print_table(("measure", ""), [(styled(name), styled(value)) for name, value in rows])
    result(f"{about['questions']:,} questions")


def print_closed(report: ClosedReport) -> None:
    """A table for people."""
    rows = [
        (styled(name), styled(f"{scores['exact_match']:.1f}"), styled(f"{scores['f1']:.1f}"))
        for name, scores in report.scores.items()
    ]
    print_table(("score", "EM", "F1"), rows)
    result(f"{report.questions:,} questions")


def write_json(path: Path, value: dict[str, Any]) -> None:
    """A report as a file."""
    import json

    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
