"""Dense first: passages by the inner product of their vector with the question's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..interfaces import DenseSearch, DenseStore, Hit, Matching, Searchable
from ..records import EncodedQuestion
from .offers import offers


def propose(
    store: Searchable, dense: DenseStore | None, questions: Sequence[EncodedQuestion], k: int, where: Mapping[str, str]
) -> list[list[Hit]]:
    """For each question the k best passages: from a store that has the vectors itself, or from a dense store."""
    vectors = np.stack([question.passage_vector for question in questions]).astype(np.float32)
    if dense is None:
        return store.dense_search(vectors, k, where) if offers(store, DenseSearch) else [[] for _ in questions]
    allowed = store.matching(where) if where and offers(store, Matching) else None
    return dense.search(vectors, k, allowed)
