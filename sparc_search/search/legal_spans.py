"""Which spans may be answers: kept start, kept end, not too long, whole words, a word among them, across no joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, Ints, SideBatch, before, ranges
from ..records import AFTER_JOINT, CONTINUES, PUNCTUATION, TITLE

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Legal spans, ordered by (block, start, end)."""

    block: Ints
    start: Ints  # first token, within its block
    end: Ints  # last token
    start_row: Ints  # row among all kept starts
    end_row: Ints


class LegalSpans:
    """The legal spans of a batch; they are listed only for the starts that are asked for."""

    def __init__(self, batch: BlockBatch, longest_answer: int) -> None:
        self._longest_answer = longest_answer
        self._first = before(batch.lengths)
        # Blocks are moved apart, so that no end of the next one is in reach.
        self._apart = np.arange(len(batch)) * longest_answer
        self._room = int(batch.lengths.sum()) + len(batch) * longest_answer
        flags = batch.flags
        goes_on = (flags & CONTINUES) != 0
        before_more = np.append(goes_on[1:], False)
        before_more[np.cumsum(batch.lengths[batch.lengths > 0]) - 1] = False
        self.start_block, self._start_at = _places(batch.start, self._first)
        end_block, self._end_at = _places(batch.end, self._first)
        title = (flags & TITLE) != 0
        self._may_start = ~(goes_on | title)[self._start_at]
        self._end_rows = np.flatnonzero(~(before_more | title)[self._end_at])
        self._starts = self._start_at + self._apart[self.start_block]
        self._ends = (self._end_at + self._apart[end_block])[self._end_rows]
        self._joints = np.cumsum((flags & AFTER_JOINT) != 0)
        self._words = np.append(0, np.cumsum((flags & PUNCTUATION) == 0))

    def starts(self) -> Ints:
        """The rows of all starts that an answer may have."""
        return np.flatnonzero(self._may_start)

    def pairs(self, start_rows: Ints) -> Pairs:
        """Every legal span that begins at one of these rows (ascending)."""
        start_rows = start_rows[self._may_start[start_rows]]
        starts = self._starts[start_rows]
        low = np.searchsorted(self._ends, starts)
        count = np.searchsorted(self._ends, starts + self._longest_answer) - low
        start_row, end_row = np.repeat(start_rows, count), self._end_rows[ranges(low, count)]
        left, right = self._start_at[start_row], self._end_at[end_row]
        legal = (self._joints[left] == self._joints[right]) & (self._words[right + 1] > self._words[left])
        if not legal.all():
            start_row, end_row, left, right = start_row[legal], end_row[legal], left[legal], right[legal]
        block = self.start_block[start_row]
        moved = self._first[block]
        return Pairs(block, left - moved, right - moved, start_row, end_row)

    def best_in_reach(self, end_scores: Floats) -> Floats:
        """For each start row the largest score of an end in its reach; minus infinity if there is none."""
        best = np.full(self._room, -np.inf)
        best[self._ends] = end_scores[self._end_rows]
        width = 1
        while width < self._longest_answer:  # the best of `width` tokens from here on, then of twice as many
            step = min(width, self._longest_answer - width)
            best[:-step] = np.maximum(best[:-step], best[step:])
            width += step
        reached: Floats = best[self._starts]
        reached[~self._may_start] = -np.inf
        return reached


def _places(side: SideBatch, first: Ints) -> tuple[Ints, NDArray[Any]]:
    """Of every kept position: its block, and where it stands in all tokens."""
    block = np.repeat(np.arange(len(first)), side.kept)
    return block, side.positions + first[block]
