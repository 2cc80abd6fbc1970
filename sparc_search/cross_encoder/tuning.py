"""How much the retriever's score should count beside the reader's, chosen on questions neither was trained on."""

from __future__ import annotations

from collections.abc import Sequence

from ..evaluation.bm25 import Bm25
from ..evaluation.questions import OpenQuestion
from ..evaluation.retrieve_and_read import mixed
from .reading import CrossEncoder

MIXES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)


def tuned_mix(
    reader: CrossEncoder, bm25: Bm25, questions: Sequence[OpenQuestion], read: int = 10
) -> dict[float, float]:
    """Exact match (0 to 1) of each mix; passages are read once for all of them."""
    right = dict.fromkeys(MIXES, 0.0)
    for question in questions:
        proposals = bm25.propose(question.text, read)
        spans = reader.read(question.text, [one.passage for one in proposals]) if proposals else []
        for mix in MIXES if spans else ():
            right[mix] += question.exact_match(mixed(spans, proposals, mix)[0].text)
    return {mix: round(count / max(1, len(questions)), 4) for mix, count in right.items()}


def best_mix(found: dict[float, float]) -> float:
    """The smallest of those with the highest exact match."""
    return min(found, key=lambda mix: (-found[mix], mix))
