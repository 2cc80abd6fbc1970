"""`sparc-search evaluate baseline`: BM25 passages, or retrieve-and-read, over the same passages as an index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.settings import Settings

from .evaluate_open import asked_of, conclude, output_options, question_options, run_with_bar
from .options import json_option, settings_options
from .terminal import note

if TYPE_CHECKING:
    from sparc_search.engine import Engine
    from sparc_search.evaluation.bm25 import Bm25
    from sparc_search.evaluation.measuring import Run
    from sparc_search.records import Reply


@click.command()
@click.argument("questions", type=click.Path(path_type=Path))
@settings_options("index", "engine", "threads")
@question_options
@click.option(
    "--reader",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of a reader (`train-reader`). Without one, BM25 alone.",
)
@click.option(
    "--read", default=30, show_default=True, type=click.IntRange(1), help="Passages the reader reads for a question."
)
@click.option(
    "--mix", type=click.FloatRange(0), help="Weight of the BM25 score.  [default: the one the reader was tuned to]"
)
@output_options
@json_option
def baseline(
    settings: Settings, questions: Path, reader: Path | None, read: int, mix: float | None, **options: Any
) -> None:
    """Measure what the index is compared with.

    BM25 (bm25s) proposes passages of the same index; with --reader a cross-encoder reads the best of them for each
    question, which is what DrQA and BERTserini do. QUESTIONS as for `evaluate open`; so are the measures.
    """
    from sparc_search.opening import open_engine

    asked = asked_of(questions, options)
    with open_engine(settings) as engine:
        bm25 = indexed(engine)
    ask, about = system(bm25, reader, read, mix, settings.threads)
    run = run_system(asked, ask, about["system"])
    conclude(run, questions, {**about, **not_answered(run, about)}, options)


def indexed(engine: Engine) -> Bm25:
    """BM25 over the passages of an index."""
    from sparc_search.evaluation.bm25 import Bm25
    from sparc_search.evaluation.corpus import passages_of

    note("indexing the passages for BM25 ...")
    return Bm25(passages_of(engine))


def system(
    bm25: Bm25, reader: Path | None, read: int, mix: float | None, threads: int
) -> tuple[Callable[[str], Reply], dict[str, Any]]:
    """What answers, and what the report says of it."""
    from sparc_search.cross_encoder.reading import open_cross_encoder
    from sparc_search.evaluation.bm25 import K1, B, passages_only
    from sparc_search.evaluation.open_domain import CUTS
    from sparc_search.evaluation.retrieve_and_read import RetrieveAndRead

    common = {"passages": len(bm25.passages), "strategy": "", "without": [], "bm25": {"k1": K1, "b": B}}
    if reader is None:
        return lambda question: passages_only(bm25, question, max(CUTS)), {"system": "BM25", "model": "-", **common}
    pipeline = RetrieveAndRead(bm25, open_cross_encoder(reader, threads=threads), read, mix)
    card = pipeline.reader.card
    about = {
        "system": f"BM25 + reader ({read} passages)",
        "model": card.fingerprint,
        "reader": {"body": card.in_words, "read": read, "mix": pipeline.mix, "training": dict(card.training)},
    }
    return lambda question: pipeline.ask(question, max(CUTS)), {**about, **common}


def run_system(asked: list[Any], ask: Callable[[str], Reply], tag: str) -> Run:
    """Ask everything; one question first, because what is loaded then is no part of any answer."""
    from sparc_search.evaluation.open_domain import ask_each

    ask(asked[0].text)
    return run_with_bar(asked, ask_each(asked, ask), tag)


def not_answered(run: Run, about: dict[str, Any]) -> dict[str, Any]:
    """BM25 alone gives passages, no answers: what would measure answers is left empty instead of zero."""
    if "reader" in about:
        return {}
    return {"exact_match": None, "f1": None, "answer_recall": None, "mean_reciprocal_rank": None, "intervals": {}}
