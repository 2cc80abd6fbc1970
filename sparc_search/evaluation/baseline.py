"""What an index is compared with: BM25 over its passages, alone or with a cross-encoder that reads the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cross_encoder.reading import open_cross_encoder
from ..records import Reply
from .bm25 import K1, B, Bm25, passages_only
from .measuring import MeasuredRun, measured
from .open_domain import CUTS, ask_each
from .questions import OpenQuestion
from .retrieve_and_read import RetrieveAndRead
from .watching import QUIET, Watcher


@dataclass(frozen=True, slots=True)
class Baseline:
    """Something that answers, and what a report says of it."""

    ask: Callable[[str], Reply]
    passages: int
    name: str = "BM25"
    model: str = "-"
    reader: Mapping[str, Any] | None = None
    """Which cross-encoder reads, how many passages, and how it was trained."""

    def about(self) -> dict[str, Any]:
        """The facts, as they stand in a report."""
        facts = {"system": self.name, "model": self.model, "passages": self.passages, "strategy": "", "without": []}
        facts["bm25"] = {"k1": K1, "b": B}
        if self.reader is not None:
            return {**facts, "reader": self.reader}
        # Passages are no answers: what would measure answers is left empty instead of zero.
        return {
            **facts,
            **dict.fromkeys(("exact_match", "f1", "answer_recall", "mean_reciprocal_rank")),
            "intervals": {},
        }

    def run(self, asked: Sequence[OpenQuestion], watcher: Watcher = QUIET) -> MeasuredRun:
        """Ask everything; one question first, because what is loaded then is no part of any answer."""
        self.ask(asked[0].text)
        with watcher.counting("asking", len(asked)) as tell:
            return measured(ask_each(asked, self.ask), self.name, tell)


def baseline(bm25: Bm25, reader: Path | None, read: int, mix: float | None = None, threads: int = 0) -> Baseline:
    """BM25 alone, or with the cross-encoder in a folder, which reads so many passages for each question."""
    passages = len(bm25.passages)
    if reader is None:
        return Baseline(lambda question: passages_only(bm25, question, max(CUTS)), passages)
    pipeline = RetrieveAndRead(bm25, open_cross_encoder(reader, threads=threads), read, mix)
    card = pipeline.reader.card
    facts = {"body": card.in_words, "read": read, "mix": pipeline.mix, "training": dict(card.training)}
    name = f"BM25 + reader ({read} passages)"
    return Baseline(lambda question: pipeline.ask(question, max(CUTS)), passages, name, card.fingerprint, facts)
