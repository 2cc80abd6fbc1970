"""Phrase blocks as bytes: `encode` and `decode`. `block_layout` says what stands where.

Nothing is lost, and each column takes the narrowest form that holds it: what a model made with few bits (vectors from
-8 to 7, weights of at most sixteen levels, scales of nine significant bits) is stored with few bits. Kept positions,
and the rows of sparse columns, are a bit each. There is no compression beyond that: what is left looks like noise, and
a reader takes the columns it needs without unpacking the rest.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import SIDES, PhraseBlock, SparseColumns
from .block_layout import CHECKED_FROM, COUNT_TYPES, FIELDS, HEAD, ID_TYPES, MAGIC, MATRIX, OFFSET_BYTES, Column
from .offsets import pack_offsets, unpack_offsets
from .packing import fits_halves, pack_halves, pack_nibbles, pack_places, shorten, unshorten
from .phrase_block_batch import block_of, decode_batch

_TOKENS_AT, _KIND_AT = FIELDS["tokens"][1], FIELDS["offset_kind"][1]
"""Of a head, what the offsets are read by: numpy takes longer to look at a record."""

Array = NDArray[Any]

_MOST = 0xFFFF
_NOTHING = np.zeros(0, np.uint8)


# --- to bytes --------------------------------------------------------------------------------------------------------


def encode(block: PhraseBlock) -> bytes:
    """A block as bytes; `decode` gives back an equal one."""
    start, end = block.start, block.end
    _check(block)
    kept = [len(start.positions)] * len(start.sparse) + [len(end.positions)] * len(end.sparse)
    matrices = (*start.sparse, *end.sparse)
    head = _head(block)
    head["offset_kind"], offsets = pack_offsets(block.offsets)
    ids = ID_TYPES[int(head["id_bytes"])]
    counts = [np.diff(columns.indptr) for columns in matrices]
    values = np.concatenate([_NOTHING, *(columns.values for columns in matrices)])
    if head["value_bits"] == 4:
        levels = np.unique(values)
        head["levels"][: len(levels)] = levels
        values = pack_nibbles(np.searchsorted(levels, values).astype(np.uint8))
    columns = {
        Column.TOKEN_IDS: block.token_ids.astype(ids),
        Column.FLAGS: block.flags,
        Column.PASSAGE_VECTOR: block.passage_vector,
        Column.LEX_IDS: block.lex_ids.astype(ids),
        Column.LEX_IMPACTS: _floats(block.lex_impacts, head["impact_bytes"]),
        Column.COUNTS: np.concatenate([_NOTHING, *counts]).astype(COUNT_TYPES[int(head["count_bytes"])]),
        Column.ROWS: np.concatenate([_NOTHING, *(_row_bits(*pair) for pair in zip(matrices, kept, strict=True))]),
        Column.VALUES: values,
        Column.OFFSETS: offsets,
    }
    for side, phrases in zip(SIDES, (start, end), strict=True):
        columns[Column.of(side, "positions")] = pack_places(phrases.positions, len(block.token_ids))
        columns[Column.of(side, "vectors")] = _packed(phrases.vectors, head["vector_bits"])
        columns[Column.of(side, "spans")] = _packed(phrases.spans, head["span_bits"])
        columns[Column.of(side, "scales")] = _floats(phrases.vector_scales, head["scale_bytes"])
        columns[Column.of(side, "span_scales")] = _floats(phrases.span_scales, head["scale_bytes"])
    described = np.zeros(len(matrices), MATRIX)
    described["scale"], described["n"] = [own.scale for own in matrices], [own.n for own in matrices]
    described["entries"] = [len(own.rows) for own in matrices]
    described["filled"] = [np.count_nonzero(count) for count in counts]
    rest = described.tobytes() + b"".join([columns[which].tobytes() for which in Column])
    head["checksum"] = zlib.crc32(rest, zlib.crc32(head.tobytes()[CHECKED_FROM:]))
    return bytes(head.tobytes()) + rest


def _head(block: PhraseBlock) -> Any:
    start, end = block.start, block.end
    kept = (len(start.positions), len(end.positions))
    values = np.concatenate([_NOTHING, *(columns.values for columns in (*start.sparse, *end.sparse))])
    ids = np.concatenate([block.token_ids, block.lex_ids])
    head = np.zeros((), HEAD)
    head["magic"] = MAGIC
    head["tokens"], head["starts"], head["ends"], head["terms"] = len(block.token_ids), *kept, len(block.lex_ids)
    head["dense"], head["span"] = start.vectors.shape[1], start.spans.shape[1]
    head["pooled"], head["passage_scale"] = len(block.passage_vector), block.passage_scale
    head["id_bytes"] = 2 if ids.min(initial=0) >= 0 and ids.max(initial=0) <= _MOST else 4
    head["vector_bits"] = 4 if fits_halves(start.vectors) and fits_halves(end.vectors) else 8
    head["span_bits"] = 4 if fits_halves(start.spans) and fits_halves(end.spans) else 8
    head["value_bits"] = 4 if len(np.unique(values)) <= 16 else 8
    scales = (start.vector_scales, start.span_scales, end.vector_scales, end.span_scales)
    head["scale_bytes"] = 2 if all(map(_is_short, scales)) else 4
    head["impact_bytes"] = 2 if _is_short(block.lex_impacts) else 4
    head["count_bytes"] = 1 if max(kept) < 256 else 2
    head["start_matrices"], head["end_matrices"] = len(start.sparse), len(end.sparse)
    return head


def _check(block: PhraseBlock) -> None:
    sizes = (len(block.token_ids), len(block.lex_ids), len(block.passage_vector), *block.start.vectors.shape)
    if max(sizes) > _MOST:
        raise ValueError(f"a phrase block holds at most 65,535 of each: {sizes}")
    for side in (block.start, block.end):
        if np.any(np.diff(side.positions) <= 0):
            raise ValueError("kept positions must be ascending")
        if not all(map(_is_ascending, side.sparse)):
            raise ValueError("the rows of a sparse column must be ascending")


def _is_ascending(columns: SparseColumns) -> bool:
    """Whether the rows of every column are."""
    steps = np.diff(columns.rows.astype(np.int64))
    begins = columns.indptr[1:-1]
    steps[begins[(begins > 0) & (begins < len(columns.rows))] - 1] = 1  # from one column to the next
    return bool(np.all(steps > 0))


def _is_short(values: NDArray[np.float32]) -> bool:
    return np.array_equal(unshorten(shorten(values)), values)


def _floats(values: NDArray[np.float32], size: int) -> Array:
    return shorten(values) if size == 2 else values.astype("<f4")


def _packed(matrix: NDArray[np.int8], bits: int) -> Array:
    return pack_halves(matrix) if bits == 4 else matrix


def _row_bits(columns: SparseColumns, kept: int) -> NDArray[np.uint8]:
    """For each column that has entries, a bit for each row."""
    counts = np.diff(columns.indptr)
    counts = counts[counts > 0]
    filled = np.zeros((len(counts), kept), bool)
    filled[np.repeat(np.arange(len(counts)), counts), columns.rows] = True
    return np.packbits(filled, axis=1).reshape(-1)


# --- and back --------------------------------------------------------------------------------------------------------


def decode(data: bytes, *, check: bool = True) -> PhraseBlock:
    """The block in `data`; `IndexDamaged` if bytes are missing or, with `check`, changed."""
    return block_of(decode_batch([data], check=check))


def read_last_column(data: bytes) -> NDArray[np.int32]:
    """The offsets of the tokens of a whole block; they are what it ends with."""
    tokens, kind = int.from_bytes(data[_TOKENS_AT : _TOKENS_AT + 2], "little"), data[_KIND_AT]
    size = tokens * int(OFFSET_BYTES[min(kind, 3)])
    return unpack_offsets(kind, np.frombuffer(data, np.uint8, size, len(data) - size))
