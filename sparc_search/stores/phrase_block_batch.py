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
from ..records import PhraseBlock, Phrases, SparseColumns
from .block_layout import (
    CHECKED_FROM,
    COUNT_TYPES,
    ID_TYPES,
    Column,
    alike,
    column_ends,
    damaged,
    read_heads,
    read_matrices,
    row_bytes,
)
from .offsets import unpack_offsets
from .packing import halves, nibbles_at, places_of, unshorten

Array = NDArray[Any]
Cut = Callable[..., NDArray[np.uint8]]


def decode_batch(blocks: Sequence[bytes], *, check: bool = False) -> BlockBatch:
    """At least one block, end to end; `IndexDamaged` if bytes are missing or, with `check`, changed."""
    try:
        heads = read_heads(blocks)
        if check:
            _check_sums(blocks, heads)
        matrices = read_matrices(blocks, int(heads["start_matrices"][0]) + int(heads["end_matrices"][0]))
        if not alike(heads, matrices):
            return batch_of([block_of(decode_batch([data])) for data in blocks])
        return _decode(blocks, heads, matrices)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        other = ", or of another shape than the others" if len(blocks) > 1 else ""
        raise damaged(f"is cut short{other}") from error


def _check_sums(blocks: Sequence[bytes], heads: Array) -> None:
    sums = [zlib.crc32(memoryview(data)[CHECKED_FROM:]) for data in blocks]
    if sums != heads["checksum"].tolist():
        raise damaged("has changed bytes")


def _decode(blocks: Sequence[bytes], heads: Array, matrices: Array) -> BlockBatch:
    ends = column_ends(heads, matrices)
    if ends[:, -1].tolist() != [len(data) for data in blocks]:
        raise ValueError("length")
    views, bounds = [memoryview(data) for data in blocks], ends.T.tolist()

    def cut(*columns: Column) -> NDArray[np.uint8]:
        parts = [
            view[begin:end]
            for column in columns
            for view, begin, end in zip(views, bounds[column], bounds[column + 1], strict=True)
        ]
        return np.frombuffer(b"".join(parts), np.uint8)

    def offsets(number: int) -> NDArray[np.int32]:
        packed = views[number][bounds[Column.OFFSETS][number] :]
        return unpack_offsets(int(heads["offset_kind"][number]), np.frombuffer(packed, np.uint8))

    head, split = heads[0], int(heads["start_matrices"][0])
    ids, sizes = ID_TYPES[int(head["id_bytes"])], matrices["n"][0].tolist()
    start, end = _sides(heads, cut)
    return BlockBatch(
        lengths=heads["tokens"].astype(np.int64),
        token_ids=cut(Column.TOKEN_IDS).view(ids),
        flags=cut(Column.FLAGS),
        start=start,
        end=end,
        ngrams=(tuple(sizes[:split]), tuple(sizes[split:])),
        sparse=_PackedMatrices(heads, matrices, cut),
        passage_vectors=cut(Column.PASSAGE_VECTOR).view(np.int8).reshape(len(blocks), int(head["pooled"])),
        passage_scales=heads["passage_scale"].astype(np.float64),
        lex_counts=heads["terms"].astype(np.int64),
        lex_ids=cut(Column.LEX_IDS).view(ids),
        lex_impacts=_floats(cut(Column.LEX_IMPACTS), int(head["impact_bytes"])),
        offsets=offsets,
    )


def _sides(heads: Array, cut: Cut) -> tuple[SideBatch, SideBatch]:
    """Starts and ends; what is unpacked is unpacked for both together."""
    head, kept = heads[0], (heads["starts"].astype(np.int64), heads["ends"].astype(np.int64))
    starts, ends = int(kept[0].sum()), int(kept[1].sum())
    vectors = _numbers(
        cut(Column.START_VECTORS, Column.END_VECTORS), starts + ends, int(head["dense"]), int(head["vector_bits"])
    )
    spans = _numbers(
        cut(Column.START_SPANS, Column.END_SPANS), starts + ends, int(head["span"]), int(head["span_bits"])
    )
    joined = spans[0] if len(spans) == 1 else np.concatenate(spans, axis=1)
    columns = (Column.START_SCALES, Column.END_SCALES, Column.START_SPAN_SCALES, Column.END_SPAN_SCALES)
    scales = _floats(cut(*columns), int(head["scale_bytes"])).reshape(2, starts + ends)
    bits = cut(Column.START_POSITIONS, Column.END_POSITIONS)
    first_bit = 8 * before(np.tile(row_bytes(heads["tokens"].astype(np.int64)), 2))
    positions = places_of(bits) - first_bit.repeat(np.concatenate(kept))

    def side(number: int, rows: slice) -> SideBatch:
        return SideBatch(
            kept=kept[number],
            positions=positions[rows],
            vectors=tuple(part[rows] for part in vectors),
            largest=1 << (int(head["vector_bits"]) - 1),
            vector_scales=scales[0, rows],
            spans=joined[rows],
            span_scales=scales[1, rows],
        )

    return side(0, slice(0, starts)), side(1, slice(starts, None))


def _numbers(packed: NDArray[np.uint8], rows: int, width: int, bits: int) -> tuple[NDArray[np.int8], ...]:
    """Vectors, in one part or in two halves."""
    return halves(packed.reshape(rows, width // 2)) if bits == 4 else (packed.view(np.int8).reshape(rows, width),)


def _floats(data: NDArray[np.uint8], size: int) -> NDArray[np.float32]:
    """Scales or impacts."""
    return unshorten(data.view("<u2")) if size == 2 else data.view("<f4")


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


# --- one block -------------------------------------------------------------------------------------------------------


def block_of(batch: BlockBatch) -> PhraseBlock:
    """The one block of a batch as an object."""
    try:
        starts = len(batch.ngrams[0])
        sparse = [_matrix(batch, number, n) for number, n in enumerate((*batch.ngrams[0], *batch.ngrams[1]))]
    except IndexError as error:
        raise damaged("is cut short") from error
    return PhraseBlock(
        batch.token_ids.astype(np.int32),
        batch.offsets(0),
        batch.flags,
        _phrases(batch.start, sparse[:starts]),
        _phrases(batch.end, sparse[starts:]),
        batch.passage_vectors[0],
        float(batch.passage_scales[0]),
        batch.lex_ids.astype(np.int32),
        batch.lex_impacts,
    )


def _matrix(batch: BlockBatch, number: int, n: int) -> SparseColumns:
    tokens = int(batch.lengths[0])
    entries = batch.sparse.entries(np.full(tokens, number), np.zeros(tokens, np.int64), np.arange(tokens))
    indptr = np.append(0, entries.counts.cumsum()).astype(np.int32)
    return SparseColumns(
        n, indptr, entries.rows.astype(np.uint16), entries.values, float(batch.sparse.scales[0, number])
    )


def _phrases(side: SideBatch, sparse: Sequence[SparseColumns]) -> Phrases:
    vectors = side.vectors[0] if len(side.vectors) == 1 else np.concatenate(side.vectors, axis=1)
    positions = side.positions.astype(np.int32)
    return Phrases(positions, vectors, side.vector_scales, side.spans, side.span_scales, tuple(sparse))
