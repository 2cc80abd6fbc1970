"""What a question is trained on: every legal phrase of the passages that the index proposes for it.

Blocks come from the index as they are and never change, so all that does not depend on the question's numbers is taken
from them once: which spans are legal, their coherency, the lexical part, and where the question's n-grams stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, SideBatch, before
from ..search.legal_spans import LegalSpans, Pairs
from ..search.lexical import LexWeight
from ..search.question_grams import NgramPlaces
from ..search.scorer import lex_scores, span_scores

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PoolSide:
    """The kept starts (or ends) of some passages, and what the question's n-grams weigh for each."""

    vectors: NDArray[np.int8]  # (rows, dense)
    scales: Floats  # (rows,)
    entry_row: Ints  # (entries,)
    entry_slot: Ints  # (entries,) which of the question's n-grams: see `slot`
    entry_value: Floats  # (entries,)


@dataclass(frozen=True, slots=True)
class Pool:
    """The phrases of some passages, for one question. P passages, S spans."""

    start: PoolSide
    end: PoolSide
    passage_vectors: NDArray[np.int8]  # (P, pooled)
    passage_scales: Floats  # (P,)
    passage: Ints  # (S,) which of the passages
    start_row: Ints  # (S,)
    end_row: Ints  # (S,)
    fixed: Floats  # (S,) coherency and lexical part
    right: NDArray[np.bool_]  # (S,) whether it is a right answer

    @property
    def can_teach(self) -> bool:
        """Whether there is something to be chosen, and something to be passed over."""
        return bool(self.right.any() and not self.right.all())


@dataclass(frozen=True, slots=True)
class RightSpans:
    """Which spans are right answers: those that say one, in a passage where one may stand."""

    texts: Sequence[str]  # of each passage; empty where no answer may stand
    is_right: Callable[[str], bool]
    longest: int  # characters of a right answer

    def among(self, pairs: Pairs, batch: BlockBatch) -> NDArray[np.bool_]:
        """Of each pair whether it is one."""
        marked = np.zeros(len(pairs.block), np.bool_)
        for block, text in enumerate(self.texts):
            rows, offsets = np.flatnonzero(pairs.block == block) if text else (), batch.offsets(block)
            for row in rows:
                begin, end = int(offsets[pairs.start[row], 0]), int(offsets[pairs.end[row], 1])
                marked[row] = end - begin <= self.longest and self.is_right(text[begin:end])
        return marked


def make_pool(
    question_ids: NDArray[np.int32],
    batch: BlockBatch,
    lex: Sequence[LexWeight],
    right: RightSpans,
    *,
    longest_answer: int,
    window: int,
) -> Pool:
    """The pool of a question, of which the word pieces are given, over the blocks of some passages."""
    legal = LegalSpans(batch, longest_answer)
    pairs = legal.pairs(legal.starts())
    fixed = span_scores(batch, pairs.start_row, pairs.end_row) + lex_scores(batch, lex)[pairs.block]
    sides = [_side(question_ids, batch, number, window) for number in (0, 1)]
    return Pool(
        sides[0],
        sides[1],
        np.array(batch.passage_vectors),
        batch.passage_scales.astype(np.float32),
        pairs.block,
        pairs.start_row,
        pairs.end_row,
        fixed.astype(np.float32),
        right.among(pairs, batch),
    )


def slot(order: int, position: int, window: int) -> int:
    """Where the n-gram that begins at a word piece of the question has its weight; `order` is that of its size."""
    return order * window + 1 + position  # [CLS] stands before the pieces


def _side(question_ids: NDArray[np.int32], batch: BlockBatch, number: int, window: int) -> PoolSide:
    side = batch.end if number else batch.start
    found = [
        _entries(question_ids.tolist(), batch, side, order + number * len(batch.ngrams[0]), order, n, window)
        for order, n in enumerate(batch.ngrams[number])
    ]
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    row, slots, value = (np.concatenate(parts) for parts in zip(nothing, *found, strict=True))
    vectors = np.concatenate(side.vectors, axis=1)
    return PoolSide(vectors, side.vector_scales.astype(np.float32), row, slots, value)


def _entries(
    ids: Sequence[int], batch: BlockBatch, side: SideBatch, matrix: int, order: int, n: int, window: int
) -> tuple[Ints, Ints, Floats]:
    """(row, slot, weight) of every place where an n-gram of the question weighs something for a phrase."""
    positions: dict[tuple[int, ...], list[int]] = {}
    for at in range(len(ids) - n + 1):
        positions.setdefault(tuple(ids[at : at + n]), []).append(at)
    if not positions:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    grams = {gram: [float(number)] for number, gram in enumerate(positions)}
    block, column, gram = NgramPlaces(grams, batch).find(n, grams)
    entries = batch.sparse.entries(np.full(len(block), matrix), block, column)
    row = entries.rows + before(side.kept)[block].repeat(entries.counts)
    value = entries.values * batch.sparse.scales[block, matrix].repeat(entries.counts)
    which = gram[:, 0].astype(np.int64).repeat(entries.counts)
    every = list(positions.values())
    times = np.array([len(places) for places in every], np.int64)[which]  # an n-gram may stand twice in a question
    slots = [slot(order, at, window) for number in which.tolist() for at in every[number]]
    return row.repeat(times), np.array(slots, np.int64), value.repeat(times).astype(np.float32)
