"""BM25 over the passages of an index (bm25s): what a search engine without a model proposes.

k1 = 0.9 and b = 0.4, as Anserini and BERTserini use them; title and text in one field, English stop words left out.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MissingExtra
from ..records import Answer, Passage, Reply

K1, B = 0.9, 0.4


@dataclass(frozen=True, slots=True)
class Proposal:
    """A passage and its BM25 score."""

    passage: Passage
    score: float


class Bm25:
    """An index in memory."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        try:
            import bm25s
        except ImportError as error:
            raise MissingExtra("the BM25 baseline", "eval") from error
        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG
        self._library: Any = bm25s
        self.passages = list(passages)
        self._index: Any = bm25s.BM25(k1=K1, b=B, method="lucene")
        texts = [f"{passage.title} {passage.text}" for passage in self.passages]
        self._index.index(self._tokens(texts), show_progress=False)

    def propose(self, question: str, k: int) -> list[Proposal]:
        """The best passages with a positive score, ties by id."""
        known = self._index.vocab_dict
        (words,) = self._tokens([question], return_ids=False)
        ids = [known[word] for word in words if word in known]
        if not ids:
            return []
        scores = self._index.get_scores_from_ids(ids)
        k = min(k, len(scores))
        best = np.argpartition(-scores, k - 1)[:k]
        chosen = sorted((-float(scores[row]), self.passages[row].id, int(row)) for row in best)
        return [Proposal(self.passages[row], -score) for score, _, row in chosen if score < 0]

    def _tokens(self, texts: list[str], **options: Any) -> Any:
        return self._library.tokenize(texts, stopwords="en", show_progress=False, **options)


def passages_only(bm25: Bm25, question: str, k: int) -> Reply:
    """A reply whose answers are whole passages: there is no reader, so only passage recall means something."""
    began = time.perf_counter()
    proposals = bm25.propose(question, k)
    seconds = time.perf_counter() - began
    answers = []
    for proposal in proposals:
        text = proposal.passage.text
        answers.append(Answer(text, proposal.score, proposal.passage, 0, len(text), ("sparse",), ()))
    return Reply(question, tuple(answers), "sparse", 0, len(proposals), {"retrieve": seconds})
