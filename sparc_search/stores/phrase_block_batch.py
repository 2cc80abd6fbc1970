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
from .block_layout import CHECKED_FROM, KINDS, Column, column_ends, damaged, read_heads, read_matrices, row_bytes
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
        if not _alike(heads, matrices):
            return batch_of([decode(data, check=False) for data in blocks])
        return _decode(blocks, heads, matrices)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise damaged("is cut short, or of another shape than the others") from error


def _check_sums(blocks: Sequence[bytes], heads: Array) -> None:
    sums = [zlib.crc32(memoryview(data)[CHECKED_FROM:]) for data in blocks]
    if sums != heads["checksum"].tolist():
        raise damaged("has changed bytes")


def _alike(heads: Array, matrices: Array) -> bool:
    """Whether all are packed in the same way, as blocks of one model mostly are."""
    same = all(np.all(heads[name] == heads[name][0]) for name in (*KINDS, "dense", "span", "pooled"))
    return same and bool(np.all(matrices["n"] == matrices["n"][0]))


def _decode(blocks: Sequence[bytes], heads: Array, matrices: Array) -> BlockBatch:
    ends = column_ends(heads, matrices)
    if ends[:, -1].tolist() != [len(data) for data in blocks]:
        raise ValueError("length")
    views = [memoryview(data) for data in blocks]

    def cut(column: Column) -> NDArray[np.uint8]:
        bounds = zip(views, ends[:, column].tolist(), ends[:, column + 1].tolist(), strict=True)
        return np.frombuffer(b"".join([view[begin:end] for view, begin, end in bounds]), np.uint8)

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
        count = matrices.shape[1]
        self.scales = matrices["scale"].astype(np.float64)
        tokens = heads["tokens"].astype(np.int64)
        of_starts = np.arange(count) < int(heads["start_matrices"][0])
        starts, ends = (row_bytes(heads[name].astype(np.int64))[:, None] for name in ("starts", "ends"))
        self._widths = np.where(of_starts, starts, ends)  # bytes of the bits of a column
        # Columns of block 0's first matrix, then of its second, ..., then of block 1's first.
        self._first = before(np.repeat(tokens, count)).reshape(len(heads), count)
        counts = cut(Column.COUNTS).view(COUNT_TYPES[int(heads["count_bytes"][0])])
        self._counts = counts
        self._entries = _before_each(counts)
        widths = self._widths.astype(np.uint16).repeat(np.repeat(tokens, count))
        self._bytes = _before_each(widths * (counts > 0))
        self._rows, self._values = cut(Column.ROWS), cut(Column.VALUES)
        # Sixteen for each block: one that is short may not have them all.
        self._levels = heads["levels"].reshape(-1) if heads["value_bits"][0] == 4 else None
        # With two values in a byte, those of a block with an odd number are followed by half a byte of nothing.
        entries = matrices["entries"].sum(axis=1, dtype=np.int64)
        self._skipped = before(entries % 2) if self._levels is not None else np.zeros(len(heads), np.int64)
        if self._entries[-1] != entries.sum() or self._bytes[-1] != len(self._rows):
            raise ValueError("entries")

    def entries(self, matrix: Ints, block: Ints, column: Ints) -> Entries:
        """What stands in these columns."""
        at = self._first[block, matrix] + column
        counts = self._counts[at].astype(np.int64)
        widths = np.where(counts > 0, self._widths[block, matrix], 0)
        bits = np.unpackbits(self._rows[ranges(self._bytes[at], widths)])
        found = np.flatnonzero(bits)
        if len(found) != counts.sum():
            raise damaged("has weights for more or fewer positions than it says")
        rows = found - np.repeat(8 * before(widths), counts)
        places = ranges(self._entries[at] + self._skipped[block], counts)
        if self._levels is None:
            return Entries(counts, rows, self._values[places])
        return Entries(counts, rows, self._levels[nibbles_at(self._values, places) + np.repeat(16 * block, counts)])


def _before_each(sizes: Array) -> Ints:
    """How much comes before each, and, last, how much there is."""
    sums = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes.astype(np.int64), out=sums[1:])
    return sums
