"""Phrase blocks laid end to end, column by column: what the scorer works on.

A store that keeps blocks as bytes lays them out without making an object of each; `batch_of` does it with those that
are objects already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .records import PhraseBlock, Phrases

Ints = NDArray[np.int64]


class Entries(NamedTuple):
    """Entries of some sparse columns, one column after the other."""

    counts: Ints  # (columns,) entries of each
    rows: Ints  # (entries,) kept positions they are for, counted within their block and side
    values: NDArray[np.uint8]  # (entries,)


class SparseMatrices(Protocol):
    """The sparse matrices of all blocks. Numbers count the matrices of a block, those of the starts first."""

    scales: NDArray[np.float64]  # (blocks, matrices)

    def entries(self, matrix: Ints, block: Ints, column: Ints) -> Entries:
        """What stands in these columns: three arrays of one length."""


@dataclass(frozen=True, slots=True)
class SideBatch:
    """One side of the phrases of several blocks."""

    kept: Ints  # (blocks,) rows of each
    positions: NDArray[Any]  # (rows,) token positions within their block, ascending
    vectors: tuple[NDArray[np.int8], ...]  # (rows, some dimensions) each; side by side they are the vectors
    largest: int  # no number of the vectors is larger, nor smaller than its negative
    vector_scales: NDArray[np.float32]  # (rows,)
    spans: NDArray[np.int8]  # (rows, span)
    span_scales: NDArray[np.float32]  # (rows,)


class Blocks(Protocol):
    """The phrase blocks of some passages, at least one, as a store has them."""

    def __len__(self) -> int: ...

    def laid_out(self) -> BlockBatch:
        """Their columns, end to end."""

    @property
    def offsets(self) -> Callable[[int], NDArray[np.int32]]:
        """First and last character of each token of a block, by its number."""


@dataclass(frozen=True, slots=True)
class BlockBatch:
    """At least one block; all have the same dimensions and matrices of the same n-gram sizes."""

    lengths: Ints  # (blocks,) tokens of each
    token_ids: NDArray[Any]  # (tokens,)
    flags: NDArray[np.uint8]  # (tokens,)
    start: SideBatch
    end: SideBatch
    ngrams: tuple[tuple[int, ...], tuple[int, ...]]  # n of each matrix of the starts, and of the ends
    sparse: SparseMatrices
    passage_vectors: NDArray[np.int8]  # (blocks, pooled)
    passage_scales: NDArray[np.float64]  # (blocks,)
    lex_counts: Ints  # (blocks,) terms of each
    lex_ids: NDArray[Any]  # (terms,)
    lex_impacts: NDArray[np.float32]  # (terms,)
    offsets: Callable[[int], NDArray[np.int32]]
    """First and last character of each token of a block, by its number; asked for the few blocks that are shown."""

    def __len__(self) -> int:
        return len(self.lengths)

    def laid_out(self) -> BlockBatch:
        """The batch itself: its blocks lie end to end already."""
        return self


def batch_of(blocks: Sequence[PhraseBlock]) -> BlockBatch:
    """A batch of these blocks, at least one."""
    first = blocks[0]
    sizes = [tuple(columns.n for columns in side.sparse) for side in (first.start, first.end)]
    return BlockBatch(
        lengths=_counts(block.token_ids for block in blocks),
        token_ids=np.concatenate([block.token_ids for block in blocks]),
        flags=np.concatenate([block.flags for block in blocks]),
        start=_side([block.start for block in blocks]),
        end=_side([block.end for block in blocks]),
        ngrams=(sizes[0], sizes[1]),
        sparse=_PlainMatrices(blocks),
        passage_vectors=np.stack([block.passage_vector for block in blocks]),
        passage_scales=np.array([block.passage_scale for block in blocks], np.float64),
        lex_counts=_counts(block.lex_ids for block in blocks),
        lex_ids=np.concatenate([block.lex_ids for block in blocks]),
        lex_impacts=np.concatenate([block.lex_impacts for block in blocks]),
        offsets=lambda number: blocks[number].offsets,
    )


def _side(sides: Sequence[Phrases]) -> SideBatch:
    return SideBatch(
        kept=_counts(side.positions for side in sides),
        positions=np.concatenate([side.positions for side in sides]),
        vectors=(np.concatenate([side.vectors for side in sides]),),
        largest=128,
        vector_scales=np.concatenate([side.vector_scales for side in sides]),
        spans=np.concatenate([side.spans for side in sides]),
        span_scales=np.concatenate([side.span_scales for side in sides]),
    )


class _PlainMatrices:
    """Matrices whose rows and values are not packed."""

    def __init__(self, blocks: Sequence[PhraseBlock]) -> None:
        columns = [[*block.start.sparse, *block.end.sparse] for block in blocks]
        every = [matrix for own in columns for matrix in own]
        self.scales = np.array([matrix.scale for matrix in every], np.float64).reshape(len(blocks), -1)
        lengths = _counts(block.token_ids for block in blocks)
        # Each matrix has one pointer more than columns.
        self._first_pointer = before(np.repeat(lengths + 1, self.scales.shape[1])).reshape(self.scales.shape)
        sizes = _counts(matrix.rows for matrix in every)
        pointers = [matrix.indptr + first for matrix, first in zip(every, before(sizes).tolist(), strict=True)]
        self._pointers = _joined(pointers, np.int64)
        self._rows = _joined([matrix.rows for matrix in every], np.uint16)
        self._values = _joined([matrix.values for matrix in every], np.uint8)

    def entries(self, matrix: Ints, block: Ints, column: Ints) -> Entries:
        """What stands in these columns."""
        at = self._first_pointer[block, matrix] + column
        low = self._pointers[at]
        counts = self._pointers[at + 1] - low
        found = ranges(low, counts)
        return Entries(counts, self._rows[found].astype(np.int64), self._values[found])


def before(counts: Ints) -> Ints:
    """The sum of the counts before each: `[2, 3, 1]` is `[0, 2, 5]`."""
    sums: Ints = counts.cumsum() - counts
    return sums


def ranges(low: Ints, counts: Ints) -> Ints:
    """`low[0], low[0] + 1, ...` (`counts[0]` of them), then those of `low[1]`, and so on."""
    ends = counts.cumsum()
    found: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + (low - ends + counts).repeat(counts)
    return found


def numbered(ids: NDArray[Any], known: Sequence[int]) -> NDArray[Any]:
    """Of each id its number among the known ones (ascending, no two equal), or -1."""
    if not len(known):
        return np.full(len(ids), -1)
    if ids.dtype == np.uint16:
        table = np.full(1 << 16, -1, np.int16)
        inside = [id for id in known if 0 <= id < 1 << 16]
        table[inside] = np.searchsorted(known, inside)
        found: NDArray[np.int16] = table[ids]
        return found
    wanted = np.asarray(known, np.int64)  # a table by token id would be quicker, and huge for ids that are hashes
    place = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
    return np.where(wanted[place] == ids, place, -1)


def _counts(arrays: Iterable[NDArray[Any]]) -> Ints:
    return np.array([len(array) for array in arrays], np.int64)


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *arrays])
