"""Where the n-grams of a question stand in the passages, and what the phrases there get for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, Ints, before
from ..records import EncodedQuestion, WeightedNgram
from .grid import Floats, on_grid


def sparse_scores(question: EncodedQuestion, batch: BlockBatch) -> tuple[Floats, Floats]:
    """By kept start and by kept end: each n-gram's weight in the question times what it weighs for the phrase there.

    Only the columns of the question's n-grams are touched. Sums are taken before the scale, so every one is exact.
    """
    kept = (batch.start.kept, batch.end.kept)
    totals = (np.zeros(int(kept[0].sum())), np.zeros(int(kept[1].sum())))
    sides = [side for side in (0, 1) for _ in batch.ngrams[side]]
    touched = [_touched(*found, sides) for found in _places(question, batch)]
    if not touched:
        return totals
    matrix, block, column, weight = (np.concatenate(parts) for parts in zip(*touched, strict=True))
    entries = batch.sparse.entries(matrix, block, column)
    # The rows of all matrices, one matrix after the other.
    sizes = np.array([len(totals[side]) for side in sides], np.int64)
    first_row = np.stack([before(kept[side]) for side in sides]) + before(sizes)[:, None]
    rows = entries.rows + np.repeat(first_row[matrix, block], entries.counts)
    sums = np.bincount(rows, entries.values * np.repeat(weight, entries.counts), minlength=int(sizes.sum()))
    for number, (side, own) in enumerate(zip(sides, np.split(sums, np.cumsum(sizes)[:-1]), strict=True)):
        np.add(totals[side], own * np.repeat(batch.sparse.scales[:, number], kept[side]), out=totals[side])
    return totals


def _touched(
    matrices: Sequence[int], block: Ints, column: Ints, weights: Floats, sides: Sequence[int]
) -> tuple[Ints, Ints, Ints, Floats]:
    """(matrix, block, column, weight) of each column that counts in one of these matrices."""
    parts = []
    for matrix in matrices:
        weight = weights[:, sides[matrix]]
        counts = np.flatnonzero(weight)
        parts.append((np.full(len(counts), matrix), block[counts], column[counts], weight[counts]))
    all_matrices, blocks, columns, all_weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return all_matrices, blocks, columns, all_weights


def _places(question: EncodedQuestion, batch: BlockBatch) -> Iterator[tuple[list[int], Ints, Ints, Floats]]:
    """For each n: the matrices of that n, and block, column and both weights wherever an n-gram of the question is."""
    weights = _weights(question)
    pieces = _Pieces(weights, batch)
    numbers = list(chain(*batch.ngrams))
    for n in sorted(set(numbers)):
        own = {ids: both for ids, both in weights.items() if len(ids) == n}
        if own:
            block, column, found = pieces.find(n, own)
            yield [matrix for matrix, size in enumerate(numbers) if size == n], block, column, found


def _weights(question: EncodedQuestion) -> dict[tuple[int, ...], Floats]:
    """Each n-gram's weight for starts and for ends."""
    found: dict[tuple[int, ...], Floats] = {}
    for side, ngrams in enumerate((question.start_ngrams, question.end_ngrams)):
        for ids, weight in grid_weights(ngrams):
            both = found.setdefault(ids, np.zeros(2))
            both[side] += weight
    return found


def grid_weights(ngrams: Sequence[WeightedNgram]) -> Iterator[tuple[tuple[int, ...], float]]:
    """The n-grams that weigh something, with the weight they count with."""
    weights = on_grid([ngram.weight for ngram in ngrams]).tolist()
    return ((ngram.ids, weight) for ngram, weight in zip(ngrams, weights, strict=True) if weight)


class _Pieces:
    """The tokens of a batch as numbers of the question's word pieces."""

    def __init__(self, weights: dict[tuple[int, ...], Floats], batch: BlockBatch) -> None:
        pieces = sorted(set(chain.from_iterable(weights)))
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._tokens = _numbered(batch.token_ids, pieces)
        self._ends = np.cumsum(batch.lengths)
        self._begins = self._ends - batch.lengths
        self._places = np.flatnonzero(self._tokens >= 0)

    def find(self, n: int, weights: dict[tuple[int, ...], Floats]) -> tuple[Ints, Ints, Floats]:
        """Where one of these n-grams begins (block, token within it), and its two weights."""
        found, keys = self._places, self._tokens[self._places].astype(np.int64)
        for step in range(1, n):
            following = self._tokens.take(found + step, mode="clip")
            inside = (following >= 0) & (found + step < len(self._tokens))
            found, keys = found[inside], keys[inside] * len(self._numbers) + following[inside]
        known = sorted((self._key(ids), ids) for ids in weights)
        table = np.array([key for key, _ in known], np.int64)
        place = np.minimum(np.searchsorted(table, keys), len(table) - 1)
        there = np.flatnonzero(table[place] == keys)
        found, place = found[there], place[there]
        block = np.searchsorted(self._ends, found, "right")
        inside = found + n <= self._ends[block]  # no n-gram runs into the next block
        found, place, block = found[inside], place[inside], block[inside]
        return block, found - self._begins[block], np.array([weights[ids] for _, ids in known])[place]

    def _key(self, ids: tuple[int, ...]) -> int:
        key = 0
        for piece in ids:
            key = key * len(self._numbers) + self._numbers[piece]
        return key


def _numbered(token_ids: NDArray[np.integer], pieces: Sequence[int]) -> NDArray[np.int32]:
    """Of each token its number among the pieces (ascending), or -1."""
    if not pieces:
        return np.full(len(token_ids), -1, np.int32)
    known = np.asarray(pieces, np.int64)  # a table by token id would be quicker, and huge for ids that are hashes
    place = np.minimum(np.searchsorted(known, token_ids), len(known) - 1)
    return np.where(known[place] == token_ids, place, -1).astype(np.int32)
