"""Phrase blocks as bytes: `encode` and `decode`.

    header    magic with format number, crc32 of all that follows it, sizes, widths of the columns      32 bytes
    matrices  scale, entries and n of each sparse matrix, those of the starts first                     16 bytes each
    columns   one array after the other, little-endian, each at a multiple of its item size

Each column takes the narrowest type that holds it (token ids of a usual vocabulary two bytes, kept positions one ...),
so nothing has to be unpacked: decoding makes views into the bytes. There is no compression: vectors are most of a
block and look like noise.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged
from ..records import PhraseBlock, Phrases, SparseColumns
from .short_floats import shorten, unshorten

FORMAT = 1
_MAGIC = b"SPB" + bytes([FORMAT])
_FRAME = struct.Struct("<4sI")  # magic, crc32 of what follows
_SIZES = struct.Struct("<7H6B4x")
_MATRIX = struct.Struct("<dII")
_WIDTHS: tuple[str, ...] = ("<u1", "<u2", "<i4")
_IMPACTS: tuple[str, ...] = ("<u2", "<f4")
_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("<u1", "<i1", "<u2", "<i4", "<f4")}


class _Sizes(NamedTuple):
    """The header: counts, then which type of `_WIDTHS` (or `_IMPACTS`) a column has."""

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
    matrices = [
        _Matrix(columns.scale, len(columns.rows), columns.n)
        for side in (block.start, block.end)
        for columns in side.sparse
    ]
    head = _SIZES.pack(*sizes) + b"".join(_MATRIX.pack(*matrix) for matrix in matrices)
    head += struct.pack("<d", block.passage_scale)
    body = bytearray(_FRAME.size) + head
    for (dtype, shape), array in zip(_columns(sizes, matrices), _arrays(block, sizes), strict=True):
        body += bytes(-len(body) % dtype.itemsize)
        body += array.astype(dtype).reshape(shape).tobytes()
    _FRAME.pack_into(body, 0, _MAGIC, zlib.crc32(memoryview(body)[_FRAME.size :]))
    return bytes(body)


def decode(data: bytes, *, check: bool = True) -> PhraseBlock:
    """The block in `data`; `IndexDamaged` if bytes are missing or (with `check`, which costs a third more) changed."""
    try:
        return _decode(data, check)
    except (struct.error, ValueError, IndexError) as error:
        raise _damaged("is cut short") from error


def _decode(data: bytes, check: bool) -> PhraseBlock:
    magic, checksum = _FRAME.unpack_from(data)
    if magic != _MAGIC:
        raise _damaged("does not begin as one of this format does")
    if check and zlib.crc32(memoryview(data)[_FRAME.size :]) != checksum:
        raise _damaged("has changed bytes")
    sizes = _Sizes(*_SIZES.unpack_from(data, _FRAME.size))
    at = _FRAME.size + _SIZES.size
    count = sizes.start_matrices + sizes.end_matrices
    matrices = [_Matrix(*_MATRIX.unpack_from(data, at + i * _MATRIX.size)) for i in range(count)]
    at += count * _MATRIX.size
    (passage_scale,) = struct.unpack_from("<d", data, at)
    columns = _read(data, at + 8, _columns(sizes, matrices))
    token_ids, offsets = _int32(next(columns)), next(columns)
    if sizes.offsets != 2:
        offsets = _absolute(offsets)
    flags, passage_vector, lex_ids, impacts = (next(columns) for _ in range(4))
    start = _read_side(columns, matrices[: sizes.start_matrices])
    end = _read_side(columns, matrices[sizes.start_matrices :])
    next(columns, None)  # runs into the check that nothing is left
    lex_impacts = unshorten(impacts) if sizes.impacts == 0 else impacts
    return PhraseBlock(
        token_ids, offsets, flags, start, end, passage_vector, passage_scale, _int32(lex_ids), lex_impacts
    )


def _read(data: bytes, at: int, columns: Iterator[tuple[np.dtype[Any], tuple[int, ...]]]) -> Iterator[NDArray[Any]]:
    for dtype, shape in columns:
        at += -at % dtype.itemsize
        count = shape[0] if len(shape) == 1 else shape[0] * shape[1]
        array: NDArray[Any] = np.frombuffer(data, dtype, count, at) if count else np.zeros(0, dtype)
        yield array if len(shape) == 1 else array.reshape(shape)
        at += count * dtype.itemsize
    if at != len(data):
        raise ValueError("length")


def _read_side(columns: Iterator[NDArray[Any]], matrices: Sequence[_Matrix]) -> Phrases:
    positions, vectors, vector_scales, spans, span_scales = (next(columns) for _ in range(5))
    sparse = []
    for scale, _, n in matrices:
        counts, rows, values = next(columns), next(columns), next(columns)
        sparse.append(SparseColumns(n, _pointers(counts), rows.astype(np.uint16, copy=False), values, scale))
    return Phrases(_int32(positions), vectors, vector_scales, spans, span_scales, tuple(sparse))


def _columns(sizes: _Sizes, matrices: Sequence[_Matrix]) -> Iterator[tuple[np.dtype[Any], tuple[int, ...]]]:
    """Type and shape of every column, in the order they stand in."""
    ids, rows = _DTYPES[_WIDTHS[sizes.ids]], _DTYPES[_WIDTHS[sizes.rows]]
    byte, signed, real = _DTYPES["<u1"], _DTYPES["<i1"], _DTYPES["<f4"]
    yield ids, (sizes.tokens,)
    yield _DTYPES[_WIDTHS[sizes.offsets]], (sizes.tokens, 2)
    yield byte, (sizes.tokens,)
    yield signed, (sizes.pooled,)
    yield ids, (sizes.terms,)
    yield _DTYPES[_IMPACTS[sizes.impacts]], (sizes.terms,)
    splits = ((sizes.starts, matrices[: sizes.start_matrices]), (sizes.ends, matrices[sizes.start_matrices :]))
    for kept, own in splits:
        yield rows, (kept,)
        yield signed, (kept, sizes.dense)
        yield real, (kept,)
        yield signed, (kept, sizes.span)
        yield real, (kept,)
        for _, entries, _ in own:
            yield rows, (sizes.tokens,)
            yield rows, (entries,)
            yield byte, (entries,)


def _arrays(block: PhraseBlock, sizes: _Sizes) -> Iterator[NDArray[Any]]:
    """What goes into the columns, in the same order."""
    yield block.token_ids
    yield block.offsets if sizes.offsets == 2 else _relative(block.offsets)
    yield block.flags
    yield block.passage_vector
    yield block.lex_ids
    yield shorten(block.lex_impacts) if sizes.impacts == 0 else block.lex_impacts
    for side in (block.start, block.end):
        yield side.positions
        yield side.vectors
        yield side.vector_scales
        yield side.spans
        yield side.span_scales
        for columns in side.sparse:
            yield np.diff(columns.indptr)
            yield columns.rows
            yield columns.values


def _measure(block: PhraseBlock) -> _Sizes:
    tokens, starts, ends = len(block.token_ids), len(block.start.positions), len(block.end.positions)
    # Positions, counts by column and rows are all below one of these three.
    rows = 0 if max(tokens, starts + 1, ends + 1) <= 256 else 1
    shape = (starts, ends, block.start.vectors.shape[1], block.start.spans.shape[1], len(block.passage_vector))
    counts = (tokens, *shape, len(block.lex_ids))
    if max(counts) > 0xFFFF:
        raise ValueError(f"a phrase block holds at most 65,535 of each: {counts}")
    ids = max(1, _width(block.token_ids, block.lex_ids))
    short = 0 if np.array_equal(unshorten(shorten(block.lex_impacts)), block.lex_impacts) else 1
    matrices = (len(block.start.sparse), len(block.end.sparse))
    return _Sizes(*counts, ids, _width(_relative(block.offsets), block.offsets[:0]), rows, short, *matrices)


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


def _pointers(counts: NDArray[Any]) -> NDArray[np.int32]:
    pointers = np.zeros(len(counts) + 1, np.int32)
    np.add.accumulate(counts, dtype=np.int32, out=pointers[1:])
    return pointers


def _int32(array: NDArray[Any]) -> NDArray[np.int32]:
    return array.astype(np.int32, copy=False)


def _damaged(how: str) -> IndexDamaged:
    return IndexDamaged(
        f"a stored phrase block {how}", "run `sparc-search index verify`, and ingest its document again"
    )
