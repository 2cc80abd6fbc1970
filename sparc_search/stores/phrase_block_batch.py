"""Many stored phrase blocks at once: their columns are cut out of the bytes and laid end to end.

Making an object of every block would take longer than scoring it. Here a block costs a few slices, and of its sparse
matrices only the columns that are asked for are unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, Entries, Ints, SideBatch, batch_of, before, ranges
from .block_layout import CHECKED_FROM, Column, alike, column_ends, damaged, read_heads, read_matrices, row_bytes
from .packing import halves, nibbles_at, places_of
from .phrase_block import COUNT_TYPES, ID_TYPES, decode, read_floats, read_offsets

Array = NDArray[Any]
Cut = Callable[[Column], NDArray[np.uint8]]


def decode_batch(blocks: Sequence[bytes], *, check: bool = False) -> BlockBatch:
    """At least one block, end to end; `IndexDamaged` if bytes are missing or, with `check`, changed."""
    try:
        heads = read_heads(blocks)
        if check:
            _check_sums(blocks, heads)
        matrices = read_matrices(blocks, int(heads["start_matrices"][0]) + int(heads["end_matrices"][0]))
        if not alike(heads, matrices):
            return batch_of([decode(data, check=False) for data in blocks])
        return _decode(blocks, heads, matrices)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise damaged("is cut short, or of another shape than the others") from error


def _check_sums(blocks: Sequence[bytes], heads: Array) -> None:
    sums = [zlib.crc32(memoryview(data)[CHECKED_FROM:]) for data in blocks]
    if sums != heads["checksum"].tolist():
        raise damaged("has changed bytes")


def _decode(blocks: Sequence[bytes], heads: Array, matrices: Array) -> BlockBatch:
    ends = column_ends(heads, matrices)
    if ends[:, -1].tolist() != [len(data) for data in blocks]:
        raise ValueError("length")
    bounds = ends.T.tolist()

    def cut(column: int) -> NDArray[np.uint8]:
        parts = [data[begin:end] for data, begin, end in zip(blocks, bounds[column], bounds[column + 1], strict=True)]
        return np.frombuffer(b"".join(parts), np.uint8)

    head, split = heads[0], int(heads["start_matrices"][0])
    ids, sizes = ID_TYPES[int(head["id_bytes"])], matrices["n"][0].tolist()
    return BlockBatch(
        lengths=heads["tokens"].astype(np.int64),
        token_ids=cut(Column.TOKEN_IDS).view(ids),
        flags=cut(Column.FLAGS),
        start=_side(heads, cut, 0),
        end=_side(heads, cut, 1),
        ngrams=(tuple(sizes[:split]), tuple(sizes[split:])),
        sparse=_PackedMatrices(heads, matrices, cut),
        passage_vectors=cut(Column.PASSAGE_VECTOR).view(np.int8).reshape(len(blocks), int(head["pooled"])),
        passage_scales=heads["passage_scale"].astype(np.float64),
        lex_counts=heads["terms"].astype(np.int64),
        lex_ids=cut(Column.LEX_IDS).view(ids),
        lex_impacts=read_floats(cut(Column.LEX_IMPACTS), int(head["impact_bytes"])),
        offsets=lambda number: read_offsets(blocks[number], heads[number], ends[number]),
    )


def _side(heads: Array, cut: Cut, side: int) -> SideBatch:
    head, kept = heads[0], heads[("starts", "ends")[side]].astype(np.int64)
    rows = int(kept.sum())
    vectors = cut(Column(Column.START_VECTORS + side)).reshape(rows, int(head["dense"]) * int(head["vector_bits"]) // 8)
    spans = cut(Column(Column.START_SPANS + side)).reshape(rows, int(head["span"]) * int(head["span_bits"]) // 8)
    scales = [
        read_floats(cut(Column(column + 2 * side)), int(head["scale_bytes"]))
        for column in (Column.START_SCALES, Column.START_SPAN_SCALES)
    ]
    return SideBatch(
        kept=kept,
        positions=_positions(cut(Column(Column.START_POSITIONS + side)), heads["tokens"].astype(np.int64), kept),
        vectors=halves(vectors) if head["vector_bits"] == 4 else (vectors.view(np.int8),),
        largest=1 << (int(head["vector_bits"]) - 1),
        vector_scales=scales[0],
        spans=np.concatenate(halves(spans), axis=1) if head["span_bits"] == 4 else spans.view(np.int8),
        span_scales=scales[1],
    )


def _positions(bits: NDArray[np.uint8], tokens: Ints, kept: Ints) -> Ints:
    """Every block's bits begin at a whole byte."""
    return places_of(bits) - np.repeat(8 * before(row_bytes(tokens)), kept)


class _PackedMatrices:
    """Sparse matrices of which only the columns that are asked for are unpacked."""

    def __init__(self, heads: Array, matrices: Array, cut: Cut) -> None:
        blocks, count = matrices.shape
        self.scales = matrices["scale"].astype(np.float64)
        tokens = heads["tokens"].astype(np.int64)
        of_starts = np.arange(count) < int(heads["start_matrices"][0])
        starts, ends = (row_bytes(heads[name].astype(np.int64))[:, None] for name in ("starts", "ends"))
        self._widths = np.where(of_starts, starts, ends)  # bytes of the bits of a column
        # Columns of block 0's first matrix, then of its second, ..., then of block 1's first.
        self._first = before(tokens.repeat(count)).reshape(blocks, count)
        self._counts = cut(Column.COUNTS).view(COUNT_TYPES[int(heads["count_bytes"][0])])
        self._rows, self._values = cut(Column.ROWS), cut(Column.VALUES)
        self._entries_before = _before_each(self._counts)
        self._filled_before = _before_each(self._counts != 0)
        filled = matrices["filled"].astype(np.int64)
        # Where the bits of a matrix begin, less those of the filled columns before it.
        self._base = before((filled * self._widths).reshape(-1)) - before(filled.reshape(-1)) * self._widths.reshape(-1)
        # Sixteen for each block: one that is short may not have them all.
        self._levels = heads["levels"].reshape(-1) if heads["value_bits"][0] == 4 else None
        # With two values in a byte, those of a block with an odd number are followed by half a byte of nothing.
        entries = matrices["entries"].sum(axis=1, dtype=np.int64)
        self._skipped = before(entries % 2) if self._levels is not None else np.zeros(blocks, np.int64)
        if self._entries_before[-1] != entries.sum() or self._filled_before[-1] != filled.sum():
            raise ValueError("entries")

    def entries(self, matrix: Ints, block: Ints, column: Ints) -> Entries:
        """What stands in these columns."""
        which = block * self._widths.shape[1] + matrix
        at = self._first.reshape(-1)[which] + column
        counts = self._counts[at].astype(np.int64)
        widths = self._widths.reshape(-1)[which]
        begins = self._base[which] + self._filled_before[at] * widths
        widths[counts == 0] = 0
        bits = np.unpackbits(self._rows[ranges(begins, widths)])
        found = bits.nonzero()[0]
        if len(found) != counts.sum():
            raise damaged("has weights for more or fewer positions than it says")
        rows = found - (8 * before(widths)).repeat(counts)
        places = ranges(self._entries_before[at] + self._skipped[block], counts)
        if self._levels is None:
            return Entries(counts, rows, self._values[places])
        return Entries(counts, rows, self._levels[nibbles_at(self._values, places) + (16 * block).repeat(counts)])


def _before_each(sizes: Array) -> Ints:
    """How much comes before each, and, last, how much there is."""
    sums = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(dtype=np.int64, out=sums[1:])
    return sums
