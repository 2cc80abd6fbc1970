"""`sparc-search evaluate baseline`: BM25 passages, or retrieve-and-read, over the same passages as an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparc_search.settings import Settings

from .evaluate_open import asked_of, conclude, output_options, question_options
from .evaluate_output import OnTerminal
from .options import FOLDER, PATH, json_option, option, settings_options
from .terminal import note


@click.command()
@click.argument("questions", type=PATH)
@settings_options("index", "engine", "threads")
@question_options
@click.option("--reader", type=FOLDER, help="Folder of a reader (`train-reader`). Without one, BM25 alone.")
@option("--read", default=30, type=click.IntRange(1), help="Passages the reader reads for a question.")
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
    from sparc_search.evaluation.baseline import baseline as compared
    from sparc_search.evaluation.bm25 import Bm25
    from sparc_search.evaluation.corpus import passages_of
    from sparc_search.opening import open_engine

    asked = asked_of(questions, options)
    note("indexing the passages for BM25 ...")
    with open_engine(settings) as engine:
        bm25 = Bm25(passages_of(engine))
    system = compared(bm25, reader, read, mix, settings.threads)
    conclude(system.run(asked, OnTerminal()), questions, system.about(), options)
