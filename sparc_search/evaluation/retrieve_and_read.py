"""Retrieve and read: BM25 proposes passages, a cross-encoder reads them all for each question.

The score of an answer is the cross-encoder's + mix · the BM25 score of its passage, over all passages at once
(BERTserini's way).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..cross_encoder.reading import CrossEncoder, ReadSpan
from ..records import Answer, Reply
from .bm25 import Bm25, Proposal


class RetrieveAndRead:
    """The pipeline as a whole: what a question costs when passages are read anew for each."""

    def __init__(self, bm25: Bm25, reader: CrossEncoder, read: int = 30, mix: float | None = None) -> None:
        self.bm25, self.reader, self.passages_read = bm25, reader, read
        self.mix = reader.card.mix if mix is None else mix

    def ask(self, question: str, k: int = 5) -> Reply:
        """Retrieve, read, choose."""
        began = time.perf_counter()
        proposals = self.bm25.propose(question, self.passages_read)
        retrieved = time.perf_counter()
        spans = self.reader.read(question, [proposal.passage for proposal in proposals]) if proposals else []
        answers = mixed(spans, proposals, self.mix)[:k]
        seconds = {"retrieve": retrieved - began, "read": time.perf_counter() - retrieved}
        return Reply(question, tuple(answers), "sparse", 0, len(proposals), seconds)


def mixed(spans: Sequence[ReadSpan], proposals: Sequence[Proposal], mix: float) -> list[Answer]:
    """Answers, best first, by the reader's score and the retriever's."""
    answers = [
        Answer(
            (passage := proposals[span.passage].passage).text[span.start : span.end],
            span.score + mix * proposals[span.passage].score,
            passage,
            span.start,
            span.end,
            ("sparse",),
            (),
        )
        for span in spans
    ]
    return sorted(answers, key=lambda answer: (-answer.score, answer.passage.id, answer.start, answer.end))
