"""Phrase blocks as bytes: `encode` and `decode`.

    frame     magic with format number, crc32 of all that follows                              8 bytes
    sizes     counts, and which type some columns have                                        24 bytes
    matrices  scale, entries and n of each sparse matrix, those of the starts first           16 bytes each
    scale     of the passage vector                                                            8 bytes
    columns   one array after the other, little-endian, each at a multiple of its item size

Each column takes the narrowest type that holds it (token ids of a usual vocabulary two bytes, kept positions one ...),
so almost nothing has to be unpacked: decoding makes views into the bytes. There is no compression: vectors are most of
a block and look like noise.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged
from ..records import PhraseBlock, Phrases, SparseColumns
from .short_floats import shorten, unshorten

FORMAT = 1
_MAGIC = b"SPB" + bytes([FORMAT])
_FRAME = struct.Struct("<4sI")
_SIZES = struct.Struct("<7H6B4x")
_MATRIX = struct.Struct("<dII")
_SCALE = struct.Struct("<d")

_BYTE, _SIGNED, _REAL = np.dtype("<u1"), np.dtype("<i1"), np.dtype("<f4")
_WIDTHS = (np.dtype("<u1"), np.dtype("<u2"), np.dtype("<i4"))
_IMPACTS = (np.dtype("<u2"), np.dtype("<f4"))
_PLAIN = 2
"""Offsets that are no small steps forward are kept as they are."""


class _Sizes(NamedTuple):
    """Counts, then which type of `_WIDTHS` (or `_IMPACTS`) a column has, then how many matrices each side has."""

    tokens: int
    starts: int
    ends: int
    dense: int
    span: int
    pooled: int
    terms: int
    ids: int
    offsets: int
    rows: int
    impacts: int
    start_matrices: int
    end_matrices: int


class _Matrix(NamedTuple):
    scale: float
    entries: int
    n: int


def encode(block: PhraseBlock) -> bytes:
    """A block as bytes; `decode` gives back an equal one."""
    sizes = _measure(block)
    stored = (*block.start.sparse, *block.end.sparse)
    matrices = [_Matrix(columns.scale, len(columns.rows), columns.n) for columns in stored]
    body = bytearray(_FRAME.size) + _SIZES.pack(*sizes)
    body += b"".join(_MATRIX.pack(*matrix) for matrix in matrices) + _SCALE.pack(block.passage_scale)
    for (dtype, shape), array in zip(_layout(sizes, matrices), _arrays(block, sizes), strict=True):
        body += bytes(-len(body) % dtype.itemsize)
        body += array.astype(dtype).reshape(shape).tobytes()
    _FRAME.pack_into(body, 0, _MAGIC, zlib.crc32(memoryview(body)[_FRAME.size :]))
    return bytes(body)


def decode(data: bytes, *, check: bool = True) -> PhraseBlock:
    """The block in `data`; `IndexDamaged` if bytes are missing or, with `check`, changed."""
    try:
        return _decode(data, check)
    except (struct.error, ValueError, IndexError, TypeError) as error:
        raise _damaged("is cut short") from error


def _decode(data: bytes, check: bool) -> PhraseBlock:
    magic, checksum = _FRAME.unpack_from(data)
    if magic != _MAGIC:
        raise _damaged("does not begin as one of this format does")
    if check and zlib.crc32(memoryview(data)[_FRAME.size :]) != checksum:
        raise _damaged("has changed bytes")
    sizes = _Sizes(*_SIZES.unpack_from(data, _FRAME.size))
    at = _FRAME.size + _SIZES.size
    scale_at = at + (sizes.start_matrices + sizes.end_matrices) * _MATRIX.size
    matrices = [_Matrix(*values) for values in _MATRIX.iter_unpack(data[at:scale_at])]
    (passage_scale,) = _SCALE.unpack_from(data, scale_at)
    columns = _read(data, scale_at + _SCALE.size, _layout(sizes, matrices))
    token_ids, offsets, flags, passage_vector, lex_ids, impacts, scales = columns[:7]
    start_at, end_at, start_vectors, end_vectors, start_spans, end_spans, counts, rows, values = columns[7:]
    sparse = _matrices(matrices, counts, rows.astype(np.uint16, copy=False), values)
    s, e = sizes.starts, sizes.ends
    start = Phrases(
        start_at.astype(np.int32),
        start_vectors,
        scales[:s],
        start_spans,
        scales[s : 2 * s],
        tuple(sparse[: sizes.start_matrices]),
    )
    end = Phrases(
        end_at.astype(np.int32),
        end_vectors,
        scales[2 * s : 2 * s + e],
        end_spans,
        scales[2 * s + e :],
        tuple(sparse[sizes.start_matrices :]),
    )
    return PhraseBlock(
        token_ids.astype(np.int32, copy=False),
        offsets if sizes.offsets == _PLAIN else _absolute(offsets),
        flags,
        start,
        end,
        passage_vector,
        passage_scale,
        lex_ids.astype(np.int32, copy=False),
        unshorten(impacts) if sizes.impacts == 0 else impacts,
    )


def _read(data: bytes, at: int, layout: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]) -> list[NDArray[Any]]:
    columns = []
    for dtype, shape in layout:
        at += -at % dtype.itemsize
        array: NDArray[Any] = np.ndarray(shape, dtype, data, at)
        columns.append(array)
        at += array.nbytes
    if at != len(data):
        raise ValueError("there is more than there should be")
    return columns


def _matrices(
    matrices: Sequence[_Matrix], counts: NDArray[Any], rows: NDArray[np.uint16], values: NDArray[np.uint8]
) -> list[SparseColumns]:
    pointers = np.zeros((counts.shape[0], counts.shape[1] + 1), np.int32)
    np.add.accumulate(counts, axis=1, dtype=np.int32, out=pointers[:, 1:])
    sparse, at = [], 0
    for (scale, entries, n), own in zip(matrices, pointers, strict=True):
        sparse.append(SparseColumns(n, own, rows[at : at + entries], values[at : at + entries], scale))
        at += entries
    return sparse


def _layout(sizes: _Sizes, matrices: Sequence[_Matrix]) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
    """Type and shape of every column, in the order they stand in."""
    tokens, starts, ends, dense, span, pooled, terms, ids, offsets, narrow, impacts, _, _ = sizes
    rows, entries = _WIDTHS[narrow], sum([matrix.entries for matrix in matrices])
    return [
        (_WIDTHS[ids], (tokens,)),
        (_WIDTHS[offsets], (tokens, 2)),
        (_BYTE, (tokens,)),  # flags
        (_SIGNED, (pooled,)),
        (_WIDTHS[ids], (terms,)),
        (_IMPACTS[impacts], (terms,)),
        (_REAL, (2 * starts + 2 * ends,)),  # scales of the four matrices of vectors
        (rows, (starts,)),
        (rows, (ends,)),
        (_SIGNED, (starts, dense)),
        (_SIGNED, (ends, dense)),
        (_SIGNED, (starts, span)),
        (_SIGNED, (ends, span)),
        (rows, (len(matrices), tokens)),  # entries of each column of each matrix
        (rows, (entries,)),
        (_BYTE, (entries,)),
    ]


def _arrays(block: PhraseBlock, sizes: _Sizes) -> list[NDArray[Any]]:
    """What goes into the columns, in the same order."""
    start, end = block.start, block.end
    stored = (*start.sparse, *end.sparse)
    scales = (start.vector_scales, start.span_scales, end.vector_scales, end.span_scales)
    nothing = np.zeros(0, np.uint8)
    return [
        block.token_ids,
        block.offsets if sizes.offsets == _PLAIN else _relative(block.offsets),
        block.flags,
        block.passage_vector,
        block.lex_ids,
        shorten(block.lex_impacts) if sizes.impacts == 0 else block.lex_impacts,
        np.concatenate(scales),
        start.positions,
        end.positions,
        start.vectors,
        end.vectors,
        start.spans,
        end.spans,
        np.concatenate([nothing, *(np.diff(columns.indptr) for columns in stored)]),
        np.concatenate([nothing, *(columns.rows for columns in stored)]),
        np.concatenate([nothing, *(columns.values for columns in stored)]),
    ]


def _measure(block: PhraseBlock) -> _Sizes:
    tokens, starts, ends = len(block.token_ids), len(block.start.positions), len(block.end.positions)
    shape = (starts, ends, block.start.vectors.shape[1], block.start.spans.shape[1], len(block.passage_vector))
    counts = (tokens, *shape, len(block.lex_ids))
    if max(counts) > 0xFFFF:
        raise ValueError(f"a phrase block holds at most 65,535 of each: {counts}")
    return _Sizes(
        *counts,
        ids=max(1, _width(block.token_ids, block.lex_ids)),
        offsets=_width(_relative(block.offsets)),
        # Positions are below the number of tokens, rows below, and counts at most, the number of kept ones.
        rows=0 if max(tokens, starts + 1, ends + 1) <= 256 else 1,
        impacts=0 if np.array_equal(unshorten(shorten(block.lex_impacts)), block.lex_impacts) else 1,
        start_matrices=len(block.start.sparse),
        end_matrices=len(block.end.sparse),
    )


def _width(*arrays: NDArray[np.int32]) -> int:
    """The narrowest of `_WIDTHS` that holds them."""
    low = min(int(array.min(initial=0)) for array in arrays)
    high = max(int(array.max(initial=0)) for array in arrays)
    return 2 if low < 0 or high > 0xFFFF else 1 if high > 0xFF else 0


def _relative(offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each start as the distance from the start before it, each end as the length."""
    starts, ends = offsets[:, 0], offsets[:, 1]
    return np.stack([np.diff(starts, prepend=np.int32(0)), ends - starts], axis=1)


def _absolute(offsets: NDArray[Any]) -> NDArray[np.int32]:
    pairs = offsets.astype(np.int32)
    np.add.accumulate(pairs[:, 0], out=pairs[:, 0])
    pairs[:, 1] += pairs[:, 0]
    return pairs


def _damaged(how: str) -> IndexDamaged:
    remedy = "`sparc-search index verify` names its document: ingest that again"
    return IndexDamaged(f"a stored phrase block {how}", remedy)
