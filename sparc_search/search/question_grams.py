"""Where the n-grams of a question stand in the passages, and what the phrases there get for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from ..block_batch import BlockBatch, Ints, before, numbered
from ..records import EncodedQuestion
from .grid import Floats, on_grid


def sparse_scores(question: EncodedQuestion, batch: BlockBatch) -> tuple[Floats, Floats]:
    """By kept start and by kept end: each n-gram's weight in the question times what it weighs for the phrase there.

    Only the columns of the question's n-grams are touched. Sums are taken before the scale, so every one is exact.
    """
    kept = (batch.start.kept, batch.end.kept)
    sides = [side for side in (0, 1) for _ in batch.ngrams[side]]
    touched = list(_touched(question, batch, sides))
    if not touched:
        return np.zeros(int(kept[0].sum())), np.zeros(int(kept[1].sum()))
    matrix, block, column, weight = (np.concatenate(parts) for parts in zip(*touched, strict=True))
    entries = batch.sparse.entries(matrix, block, column)
    # The rows of all matrices, one matrix after the other.
    rows_of = np.concatenate([kept[side] for side in sides])
    first_row = before(rows_of)
    rows = entries.rows + first_row[matrix * len(batch) + block].repeat(entries.counts)
    sums = np.bincount(rows, entries.values * weight.repeat(entries.counts), minlength=int(rows_of.sum()))
    scaled = sums * batch.sparse.scales.T.reshape(-1).repeat(rows_of)
    begins = first_row[:: len(batch)].tolist()
    totals = [np.zeros(int(own.sum())) for own in kept]
    for side, begin in zip(sides, begins, strict=True):
        totals[side] += scaled[begin : begin + len(totals[side])]
    return totals[0], totals[1]


def _touched(
    question: EncodedQuestion, batch: BlockBatch, sides: Sequence[int]
) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
    """(matrix, block, column, weight) of each column that counts, matrix by matrix."""
    weights = ngram_weights(question)
    places = NgramPlaces(weights, batch)
    numbers = list(chain(*batch.ngrams))
    for n in sorted(set(numbers)):
        own = {ids: both for ids, both in weights.items() if len(ids) == n}
        if not own:
            continue
        block, column, found = places.find(n, own)
        for matrix, size in enumerate(numbers):
            if size == n:
                weight = found[:, sides[matrix]]
                counts = weight.nonzero()[0]
                yield np.full(len(counts), matrix), block[counts], column[counts], weight[counts]


def ngram_weights(question: EncodedQuestion) -> dict[tuple[int, ...], list[float]]:
    """Each n-gram's weight for starts and for ends."""
    found: dict[tuple[int, ...], list[float]] = {}
    for side, ngrams in enumerate((question.start_ngrams, question.end_ngrams)):
        for ngram, weight in zip(ngrams, on_grid([ngram.weight for ngram in ngrams]), strict=True):
            if weight:
                found.setdefault(ngram.ids, [0.0, 0.0])[side] += weight
    return found


class NgramPlaces:
    """The tokens of a batch as numbers of the question's word pieces, which are the digits of an n-gram's key."""

    def __init__(self, ngrams: Iterable[tuple[int, ...]], batch: BlockBatch) -> None:
        pieces = sorted(set(chain.from_iterable(ngrams)))
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._tokens = numbered(batch.token_ids, pieces)
        self._ends = batch.lengths.cumsum()
        self._begins = self._ends - batch.lengths
        self._places = (self._tokens >= 0).nonzero()[0]

    def find(self, n: int, weights: Mapping[tuple[int, ...], Sequence[float]]) -> tuple[Ints, Ints, Floats]:
        """Where one of these n-grams begins (block, token within it), and what it is mapped to (its two weights)."""
        found, keys = self._places, self._tokens[self._places].astype(np.int64)
        for step in range(1, n):
            following = self._tokens.take(found + step, mode="clip")
            inside = ((following >= 0) & (found + step < len(self._tokens))).nonzero()[0]
            found, keys = found[inside], keys[inside] * len(self._numbers) + following[inside]
        known = sorted((self._key(ids), both) for ids, both in weights.items())
        table = np.array([key for key, _ in known], np.int64)
        place = table.searchsorted(keys)
        place[place == len(table)] = 0
        there = (table[place] == keys).nonzero()[0]
        found, place = found[there], place[there]
        block = self._ends.searchsorted(found, "right")
        if n > 1:  # no n-gram runs into the next block
            inside = (found + n <= self._ends[block]).nonzero()[0]
            found, place, block = found[inside], place[inside], block[inside]
        return block, found - self._begins[block], np.array([both for _, both in known])[place]

    def _key(self, ids: tuple[int, ...]) -> int:
        key = 0
        for piece in ids:
            key = key * len(self._numbers) + self._numbers[piece]
        return key
