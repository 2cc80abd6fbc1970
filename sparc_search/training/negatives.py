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


def lexical_vectors(passages: Sequence[TrainingPassage], idf: Vectors, seed: int, size: int = 256) -> Vectors:
    """One vector a question, in the order of passages and their questions: its words and, half as strong, its passage's."""
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


def nearest_passages(vectors: Vectors, owner: NDArray[np.int64], neighbours: int = 8) -> list[list[int]]:
    """For each passage, the passages of the nearest questions of others, nearest first, without repetition.

    `vectors` holds one row a question and `owner` the passage it belongs to.
    """
    import faiss

    vectors = np.ascontiguousarray(vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9), np.float32)
    index = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(vectors.shape[1]), vectors.shape[1], lists := max(1, len(vectors) // 400)
    )
    index.metric_type = faiss.METRIC_INNER_PRODUCT
    index.train(vectors[:: max(1, len(vectors) // (lists * 60))])
    index.add(vectors)
    index.nprobe = min(lists, 12)
    scores, found = index.search(vectors, neighbours + 8)  # some of the nearest are of the same passage
    best: list[dict[int, float]] = [{} for _ in range(int(owner.max()) + 1)]
    for question, (row_scores, row) in enumerate(zip(scores, found, strict=True)):
        mine = best[owner[question]]
        for score, other in zip(row_scores.tolist(), row.tolist(), strict=True):
            if other >= 0 and owner[other] != owner[question]:
                passage = int(owner[other])
                mine[passage] = max(score, mine.get(passage, -math.inf))
    return [sorted(mine, key=lambda passage: (-mine[passage], passage))[:neighbours] for mine in best]
