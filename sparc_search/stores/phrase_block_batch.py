"""Many stored phrase blocks at once: their columns are cut out of the bytes and laid end to end.

Making an object of every block would take longer than scoring it. Here a block costs a few slices, and of its sparse
matrices only the columns that are asked for are unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, Entries, Ints, SideBatch, batch_of, before, ranges
from ..records import PhraseBlock, Phrases, Side, SparseColumns
from .block_layout import (
    CHECKED_FROM,
    FLAG_BITS,
    ID_TYPES,
    Column,
    alike,
    column_ends,
    damaged,
    read_heads,
    read_matrices,
)
from .offsets import unpack_offsets
from .older_block import decode_older, is_older
from .packed_rows import rows_at, shape_of
from .packing import Bytes, halves, numbers_at, unpack_bits

Array = NDArray[Any]


def decode_batch(blocks: Sequence[bytes], *, check: bool = False) -> BlockBatch:
    """At least one block, end to end; `IndexDamaged` if bytes are missing or, with `check`, changed."""
    try:
        if any(map(is_older, blocks)):
            return batch_of(
                [decode_older(data) if is_older(data) else block_of(decode_batch([data])) for data in blocks]
            )
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


class _Columns:
    """The columns of blocks that are packed alike."""

    def __init__(self, blocks: Sequence[bytes], heads: Array, matrices: Array) -> None:
        ends = column_ends(heads, matrices)
        if ends[:, -1].tolist() != [len(data) for data in blocks]:
            raise ValueError("length")
        self._views, self._bounds, self._sizes = [memoryview(data) for data in blocks], ends.T.tolist(), np.diff(ends)

    def cut(self, *columns: Column) -> Bytes:
        """The bytes of some columns: of the first those of all blocks, then of the next."""
        parts = [
            view[begin:end]
            for column in columns
            for view, begin, end in zip(self._views, self._bounds[column], self._bounds[column + 1], strict=True)
        ]
        return np.frombuffer(b"".join(parts), np.uint8)

    def first_bits(self, column: Column) -> Ints:
        """Where in `cut(column)` each block begins."""
        return 8 * before(self._sizes[:, column])

    def numbers(self, column: Column, counts: Ints, widths: Ints) -> Ints:
        """The numbers of a column, by how many each block has and how wide they are."""
        width = widths.repeat(counts)
        places = self.first_bits(column).repeat(counts) + ranges(np.zeros_like(counts), counts) * width
        return numbers_at(self.cut(column), places, width)

    def places(self, column: Column, tokens: Ints, counts: Ints) -> tuple[Ints, Ints]:
        """Which tokens have a bit, and their blocks; `ValueError` if a block has more or fewer than it says."""
        bits = unpack_bits(self.cut(column))[ranges(self.first_bits(column), tokens)]
        block = np.arange(len(tokens)).repeat(tokens)[bits.nonzero()[0]]
        if not np.array_equal(np.bincount(block, minlength=len(tokens)), counts):
            raise ValueError("places")
        return bits.nonzero()[0] - before(tokens)[block], block

    def offsets(self, number: int, kind: int) -> NDArray[np.int32]:
        """First and last character of each token of a block."""
        packed = self._views[number][self._bounds[Column.OFFSETS][number] :]
        return unpack_offsets(kind, np.frombuffer(packed, np.uint8))


def _decode(blocks: Sequence[bytes], heads: Array, matrices: Array) -> BlockBatch:
    columns = _Columns(blocks, heads, matrices)
    head, split = heads[0], int(heads["start_matrices"][0])
    sizes, tokens = matrices["n"][0].tolist(), heads["tokens"].astype(np.int64)
    token_ids = columns.cut(Column.TOKEN_IDS).view(ID_TYPES[int(head["id_bytes"])])
    lex_ids, lex_impacts = _terms(heads, columns, token_ids)
    return BlockBatch(
        lengths=tokens,
        token_ids=token_ids,
        flags=columns.numbers(Column.FLAGS, tokens, np.full(len(blocks), FLAG_BITS)).astype(np.uint8),
        start=_side("start", heads, columns),
        end=_side("end", heads, columns),
        ngrams=(tuple(sizes[:split]), tuple(sizes[split:])),
        sparse=_PackedMatrices(heads, matrices, columns),
        passage_vectors=columns.cut(Column.PASSAGE_VECTOR).view(np.int8).reshape(len(blocks), int(head["pooled"])),
        passage_scales=heads["passage_scale"].astype(np.float64),
        lex_counts=heads["terms"].astype(np.int64),
        lex_ids=lex_ids,
        lex_impacts=lex_impacts,
        offsets=lambda number: columns.offsets(number, int(heads["offset_kind"][number])),
    )


def _side(side: Side, heads: Array, columns: _Columns) -> SideBatch:
    head, kept, tokens = heads[0], heads[f"{side}s"].astype(np.int64), heads["tokens"].astype(np.int64)

    def scales(what: str) -> NDArray[np.float32]:
        numbers = columns.numbers(Column.of(side, f"{what}s"), kept, heads[f"{what}_bits"].astype(np.int64))
        numbers += heads[f"{what}_base"].repeat(kept)
        return (numbers << int(head["scale_shift"])).astype("<u4").view("<f4")

    def vectors(what: str, width: int, bits: int) -> tuple[NDArray[np.int8], ...]:
        """In one part or in two halves."""
        packed, rows = columns.cut(Column.of(side, what)), int(kept.sum())
        return halves(packed.reshape(rows, width // 2)) if bits == 4 else (packed.view(np.int8).reshape(rows, width),)

    spans = vectors("spans", int(head["span"]), int(head["span_bits"]))
    return SideBatch(
        kept=kept,
        positions=columns.places(Column.of(side, "positions"), tokens, kept)[0],
        vectors=vectors("vectors", int(head["dense"]), int(head["vector_bits"])),
        largest=1 << (int(head["vector_bits"]) - 1),
        vector_scales=scales("scale"),
        spans=spans[0] if len(spans) == 1 else np.concatenate(spans, axis=1),
        span_scales=scales("span_scale"),
    )


def _terms(heads: Array, columns: _Columns, token_ids: Array) -> tuple[Array, NDArray[np.float32]]:
    """Lexical terms, ascending in each block, and their impacts."""
    tokens, terms, other, impacts = (
        heads[name].astype(np.int64) for name in ("tokens", "terms", "other_terms", "impacts")
    )
    places, block = columns.places(Column.TERMS, tokens, terms - other)
    of_tokens = token_ids[before(tokens)[block] + places]
    ids = np.concatenate([of_tokens, columns.cut(Column.OTHER_TERMS).view(token_ids.dtype)])
    block = np.concatenate([block, np.arange(len(heads)).repeat(other)])
    numbers = columns.numbers(Column.TERM_IMPACTS, terms, heads["impact_bits"].astype(np.int64))
    if (numbers >= impacts.repeat(terms)).any():
        raise ValueError("impacts")
    found = columns.cut(Column.IMPACTS).view("<f4")[before(impacts).repeat(terms) + numbers]
    by_block = block.argsort(kind="stable")  # as the impacts are
    order = np.lexsort((ids[by_block], block[by_block]))
    return ids[by_block][order], found[order]


class _PackedMatrices:
    """Sparse matrices of which only the columns that are asked for are unpacked."""

    def __init__(self, heads: Array, matrices: Array, columns: _Columns) -> None:
        blocks, count = matrices.shape
        self.scales = matrices["scale"].astype(np.float64)
        tokens, filled = heads["tokens"].astype(np.int64), matrices["filled"].sum(axis=1, dtype=np.int64)
        # Columns of block 0's first matrix, then of its second, ..., then of block 1's first.
        self._first = before(tokens.repeat(count)).reshape(blocks, count)
        places, block = columns.places(Column.FILLED, tokens * count, filled)
        counts = 1 + columns.numbers(Column.COUNTS, filled, heads["count_bits"].astype(np.int64))
        of_starts = np.arange(count) < int(heads["start_matrices"][0])
        self._kept = np.where(of_starts, *(heads[name].astype(np.int64)[:, None] for name in ("starts", "ends")))
        self._counts, bits = np.zeros((2, int(tokens.sum()) * count), np.int64)
        at = before(tokens * count)[block] + places
        self._counts[at] = counts
        bits[at] = shape_of(counts, self._kept[block, places // tokens[block]]).bits(counts)
        self._rows, self._values = columns.cut(Column.ROWS), columns.cut(Column.VALUES)
        self._value_bits = int(heads["value_bits"][0])
        # Sixteen for each block: one that is short may not have them all.
        self._levels = heads["levels"].reshape(-1) if self._value_bits == 4 else None
        self._first_row = _begins(bits, tokens * count, columns.first_bits(Column.ROWS))
        first_value = columns.first_bits(Column.VALUES)
        self._first_value = _begins(self._value_bits * self._counts, tokens * count, first_value)
        for own, said in ((bits, "row_bits"), (self._counts, "entries")):
            ends = np.append(0, own.cumsum())[(tokens * count).cumsum()]
            if not np.array_equal(np.diff(ends, prepend=0), matrices[said].sum(axis=1, dtype=np.int64)):
                raise ValueError(said)

    def entries(self, matrix: Ints, block: Ints, column: Ints) -> Entries:
        """What stands in these columns."""
        at = self._first[block, matrix] + column
        counts = self._counts[at]
        try:
            rows = rows_at(self._rows, self._first_row[at], counts, self._kept[block, matrix])
        except ValueError as error:
            raise damaged("has weights for more or fewer positions than it says") from error
        width = np.full(len(rows), self._value_bits)
        values = numbers_at(self._values, ranges(self._first_value[at] // self._value_bits, counts) * width, width)
        if self._levels is not None:
            values = self._levels[values + (16 * block).repeat(counts)]
        return Entries(counts, rows, values.astype(np.uint8))


def _begins(sizes: Ints, columns: Ints, first: Ints) -> Ints:
    """Where each of some columns begins, by their sizes, how many each block has, and where each block begins."""
    begins = before(sizes)
    of_blocks = np.append(begins, 0)[before(columns)]  # a block without columns has no first one
    found: Ints = begins + (first - of_blocks).repeat(columns)
    return found


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
