"""Phrase blocks with number 2, as versions before 0.2 wrote them: on a server, in exports, in an index to be upgraded.

A head of 56 bytes, 16 for each sparse matrix, and columns end to end. Bits count from the highest of a byte on; sparse
columns had a byte or two for their entries, and a bit for each kept position.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..records import PhraseBlock, Phrases, SparseColumns
from .block_layout import CHECKED_FROM, ID_TYPES, OFFSET_BYTES, damaged
from .offsets import unpack_offsets
from .packing import halves, unshorten

_MAGIC: Final = b"SPB\2"
_SIZES: Final = ("tokens", "starts", "ends", "dense", "span", "pooled", "terms")
_KINDS: Final = (
    *("id_bytes", "offset_kind", "vector_bits", "span_bits", "value_bits"),
    *("scale_bytes", "impact_bytes", "count_bytes", "start_matrices", "end_matrices"),
)
_HEAD: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("checksum", "<u4"),
        *((name, "<u2") for name in _SIZES),
        *((name, "u1") for name in _KINDS),
        ("passage_scale", "<f8"),
        ("levels", "u1", 16),
    ]
)
_MATRIX: Final = np.dtype([("scale", "<f8"), ("entries", "<u4"), ("filled", "<u2"), ("n", "<u2")])
Bytes = NDArray[np.uint8]


def is_older(data: bytes) -> bool:
    """Whether a block has this number."""
    return data[:4] == _MAGIC


def decode_older(data: bytes) -> PhraseBlock:
    """The block in `data`; `IndexDamaged` if it is none, or not what was written."""
    head: Any = np.frombuffer(data[: _HEAD.itemsize].ljust(_HEAD.itemsize, b"\0"), _HEAD)[0]
    if not is_older(data) or zlib.crc32(data[CHECKED_FROM:]) != head["checksum"]:
        raise damaged("of the older index has changed bytes")
    try:
        return _Reader(data, {name: int(head[name]) for name in (*_SIZES, *_KINDS)}, head).block()
    except (ValueError, IndexError, TypeError, KeyError) as error:  # the sum is right: its number is that of another
        raise damaged("of the older index is none") from error


class _Reader:
    """Takes one column after the other."""

    def __init__(self, data: bytes, has: dict[str, int], head: Any) -> None:
        count = has["start_matrices"] + has["end_matrices"]
        self._data, self._has, self._head = np.frombuffer(data, np.uint8), has, head
        self._matrices = np.frombuffer(data, _MATRIX, count, _HEAD.itemsize)
        self._at = _HEAD.itemsize + count * _MATRIX.itemsize

    def _take(self, size: int) -> Bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def block(self) -> PhraseBlock:
        """The block, its columns taken in their order."""
        has, ids = self._has, ID_TYPES[self._has["id_bytes"]]
        tokens, kept = has["tokens"], (has["starts"], has["ends"])
        token_ids = self._take(tokens * has["id_bytes"]).view(ids).astype(np.int32)
        flags = self._take(tokens)
        positions = [_bits(self._take(-(-tokens // 8)), tokens).nonzero()[0].astype(np.int32) for _ in kept]
        vectors = [self._vectors(rows, has["dense"], has["vector_bits"]) for rows in kept]
        spans = [self._vectors(rows, has["span"], has["span_bits"]) for rows in kept]
        scales = [[self._floats(rows, has["scale_bytes"]) for _ in range(2)] for rows in kept]
        passage_vector = self._take(has["pooled"]).view(np.int8)
        lex_ids = self._take(has["terms"] * has["id_bytes"]).view(ids).astype(np.int32)
        lex_impacts = self._floats(has["terms"], has["impact_bytes"])
        sparse = self._sparse(tokens, kept)
        offsets = unpack_offsets(has["offset_kind"], self._take(tokens * int(OFFSET_BYTES[has["offset_kind"]])))
        if self._at != len(self._data):
            raise ValueError("bytes are left, or missing")
        split = has["start_matrices"]
        start, end = (
            Phrases(positions[side], vectors[side], scales[side][0], spans[side], scales[side][1], tuple(own))
            for side, own in enumerate((sparse[:split], sparse[split:]))
        )
        scale = float(self._head["passage_scale"])
        return PhraseBlock(token_ids, offsets, flags, start, end, passage_vector, scale, lex_ids, lex_impacts)

    def _vectors(self, rows: int, width: int, bits: int) -> NDArray[np.int8]:
        packed = self._take(rows * width * bits // 8)
        if bits == 8:
            return packed.view(np.int8).reshape(rows, width)
        return np.concatenate(halves(packed.reshape(rows, width // 2)), axis=1)

    def _floats(self, count: int, size: int) -> NDArray[np.float32]:
        return unshorten(self._take(2 * count).view("<u2")) if size == 2 else self._take(4 * count).view("<f4")

    def _sparse(self, tokens: int, kept: tuple[int, int]) -> list[SparseColumns]:
        size, split = self._has["count_bytes"], self._has["start_matrices"]
        counts = self._take(tokens * len(self._matrices) * size).view(f"<u{size}").reshape(len(self._matrices), tokens)
        bounds = [kept[number >= split] for number in range(len(self._matrices))]
        rows = []
        for own, most in zip(counts, bounds, strict=True):
            filled, width = int(np.count_nonzero(own)), -(-most // 8)
            bits = self._take(filled * width).reshape(filled, width)
            rows.append(np.unpackbits(bits, axis=1).nonzero()[1].astype(np.uint16))
        values, at = self._values(int(self._matrices["entries"].sum())), 0
        found = []
        for own, places, matrix in zip(counts, rows, self._matrices, strict=True):
            indptr = np.append(0, own.cumsum(dtype=np.int64)).astype(np.int32)
            some = values[at : at + len(places)]
            found.append(SparseColumns(int(matrix["n"]), indptr, places, some, float(matrix["scale"])))
            at += len(places)
        return found

    def _values(self, count: int) -> Bytes:
        if self._has["value_bits"] == 8:
            return self._take(count)
        packed = self._take(-(-count // 2))
        return np.asarray(self._head["levels"])[np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[:count]]


def _bits(packed: Bytes, count: int) -> Bytes:
    return np.unpackbits(packed, count=count)
