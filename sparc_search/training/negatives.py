"""Which passages are hard for each other: the paragraph of the nearest *other* question (section 3.3 of the paper).

"Nearest" is by the questions' own dense vectors. A first epoch has none yet, so it starts from words: tf-idf vectors
of question and passage, folded to a few hundred dimensions by a random projection. Later epochs use the vectors that
training computed anyway, so mining costs nothing but the search.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .squad_data import TrainingPassage

Vectors = NDArray[np.float32]


def inverse_document_frequency(passages: Sequence[TrainingPassage], vocabulary: int) -> Vectors:
    """log(1 + (N - n + .5) / (n + .5)) for each token id."""
    counts = np.zeros(vocabulary, np.float64)
    for passage in passages:
        counts[np.unique(passage.ids)] += 1
    total = len(passages)
    return np.log1p((total - counts + 0.5) / (counts + 0.5)).astype(np.float32)


def lexical_vectors(passages: Sequence[TrainingPassage], idf: Vectors, seed: int, size: int = 128) -> Vectors:
    """One vector a question, in the order of the passages: its words and, half as strong, its passage's."""
    projection = np.random.default_rng(seed).standard_normal((len(idf), size), np.float32) / math.sqrt(size)
    rows = []
    for passage in passages:
        context = folded(passage.ids, idf, projection)
        rows += [folded(question.ids, idf, projection) + 0.5 * context for question in passage.questions]
    return np.stack(rows)


def folded(ids: NDArray[np.int32], idf: Vectors, projection: Vectors) -> Vectors:
    """The tf-idf vector of some tokens, projected, of unit length."""
    counts = Counter(ids.tolist())
    tokens = np.fromiter(counts, np.int64)
    weights = np.log1p(np.fromiter(counts.values(), np.float32)) * idf[tokens]
    vector = weights @ projection[tokens]
    return np.asarray(vector / (np.linalg.norm(vector) + 1e-9), np.float32)


def nearest_passages(
    vectors: Vectors, owner: NDArray[np.int64], neighbours: int = 8, asked: int = 3
) -> list[list[int]]:
    """For each passage, the passages of the nearest questions of others, nearest first, without repetition.

    `vectors` holds one row a question and `owner` the passage it belongs to. The first `asked` questions of a passage
    speak for it: some passages have dozens, and the search is quadratic.
    """
    import faiss

    speaking = np.flatnonzero(rank_in_group(owner) < asked)
    chosen = vectors[speaking]
    chosen = np.ascontiguousarray(chosen / (np.linalg.norm(chosen, axis=1, keepdims=True) + 1e-9), np.float32)
    index = faiss.IndexFlatIP(chosen.shape[1])
    index.add(chosen)
    scores, found = index.search(chosen, min(len(chosen), neighbours + asked))  # the nearest are the passage's own
    best: list[dict[int, float]] = [{} for _ in range(int(owner.max()) + 1)]
    owners = owner[speaking]
    for row, (row_scores, others) in enumerate(zip(scores.tolist(), owners[found].tolist(), strict=True)):
        mine = best[owners[row]]
        for score, other in zip(row_scores, others, strict=True):
            if other != owners[row]:
                mine[other] = max(score, mine.get(other, -math.inf))
    return [sorted(mine, key=lambda passage: (-mine[passage], passage))[:neighbours] for mine in best]


def rank_in_group(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2 ... within each run of equal owners (owners ascend)."""
    starts = np.searchsorted(owner, owner)
    return np.arange(len(owner)) - starts
