"""How the bytes of phrase blocks are divided, for one block or for many at once.

head      magic with format number, CRC-32 of all that follows, counts, widths, scale of the passage vector, levels
matrices  scale, entries, bits of the rows, columns with any, and n of each sparse matrix, those of the starts first
columns   one after the other, in the order of `Column`, each from a whole byte on: so many numbers of so many bits
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged
from ..records import Side

FORMAT: Final = 3
MAGIC: Final = int.from_bytes(b"SPB" + bytes([FORMAT]), "little")

HEAD: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("checksum", "<u4"),
        ("tokens", "<u2"),
        ("starts", "<u2"),
        ("ends", "<u2"),
        ("dense", "<u2"),
        ("span", "<u2"),
        ("pooled", "<u2"),
        ("terms", "<u2"),
        ("other_terms", "<u2"),  # of them, those that are no word piece of the block
        ("impacts", "<u2"),  # different ones of the terms
        ("id_bytes", "u1"),  # of token ids and terms: 2 or 4
        ("offset_kind", "u1"),
        ("vector_bits", "u1"),  # 4 or 8, as of the following two
        ("span_bits", "u1"),
        ("value_bits", "u1"),
        ("count_bits", "u1"),  # of the entries of a column, less one
        ("impact_bits", "u1"),  # of the number of an impact
        ("scale_bits", "u1"),  # of a vector's scale, above the base
        ("span_scale_bits", "u1"),
        ("scale_shift", "u1"),  # lowest bits that no scale has: 15 (nine significant bits) or none
        ("start_matrices", "u1"),
        ("end_matrices", "u1"),
        ("scale_base", "<u4"),
        ("span_scale_base", "<u4"),
        ("passage_scale", "<f8"),
        ("levels", "u1", 16),  # what the sixteen values of four bits stand for
    ]
)
MATRIX: Final = np.dtype([("scale", "<f8"), ("entries", "<u4"), ("row_bits", "<u4"), ("filled", "<u2"), ("n", "<u2")])

CHECKED_FROM: Final = 8
"""The checksum covers everything from here on."""

FIELDS: Final = dict(HEAD.fields or {})
"""Of each part of a head its type, and where it stands."""

FLAG_BITS: Final = 4

_ALIKE: Final = (
    *("dense", "span", "pooled", "id_bytes", "vector_bits", "span_bits", "value_bits", "scale_shift"),
    *("start_matrices", "end_matrices"),
)
"""What blocks that are read together have in common."""


class Column(IntEnum):
    """The columns of a block, in their order."""

    TOKEN_IDS = 0
    FLAGS = 1
    START_POSITIONS = 2
    END_POSITIONS = 3
    START_VECTORS = 4
    END_VECTORS = 5
    START_SPANS = 6
    END_SPANS = 7
    START_SCALES = 8
    START_SPAN_SCALES = 9
    END_SCALES = 10
    END_SPAN_SCALES = 11
    PASSAGE_VECTOR = 12
    TERMS = 13  # a bit for each token: whether it is the first that is this lexical term
    OTHER_TERMS = 14  # ids of those that are no token
    IMPACTS = 15  # the different ones, ascending
    TERM_IMPACTS = 16  # the number of its impact, for each term of TERMS, then of OTHER_TERMS
    FILLED = 17  # a bit for each column of each matrix: whether it has entries
    COUNTS = 18  # how many, less one, for each that has
    ROWS = 19  # the kept positions of each that has: see `packed_rows`
    VALUES = 20  # one for each of them
    OFFSETS = 21

    @classmethod
    def of(cls, side: Side, what: str) -> Column:
        """A column that both sides have: `of("end", "vectors")` is END_VECTORS."""
        return cls[f"{side}_{what}".upper()]


Array = NDArray[Any]

ID_TYPES: Final[dict[int, np.dtype[Any]]] = {2: np.dtype("<u2"), 4: np.dtype("<i4")}
"""By how many bytes each takes."""

OFFSET_BYTES: Final = np.array([1, 2, 4, 8])
"""Bytes for the offsets of one token, by kind: see `offsets`."""


def read_heads(blocks: Sequence[bytes]) -> Array:
    """The heads of blocks; `IndexDamaged` if one is not of this format."""
    heads = np.frombuffer(b"".join([data[: HEAD.itemsize] for data in blocks]), HEAD)
    if len(heads) != len(blocks) or np.any(heads["magic"] != MAGIC):
        raise damaged("does not begin as one of this format does")
    return heads


def read_matrices(blocks: Sequence[bytes], count: int) -> Array:
    """The descriptions of the `count` matrices that each of the blocks has."""
    cut = slice(HEAD.itemsize, HEAD.itemsize + count * MATRIX.itemsize)
    return np.frombuffer(b"".join([data[cut] for data in blocks]), MATRIX).reshape(len(blocks), count)


def column_ends(heads: Array, matrices: Array) -> NDArray[np.int64]:
    """(blocks, columns + 1) where each column begins, and behind it where the next does."""
    numbers = _numbers(heads, matrices)
    sizes = [row_bytes(count * bits) for count, bits in (numbers[column] for column in Column)]
    first = np.full(len(heads), HEAD.itemsize + matrices.shape[1] * MATRIX.itemsize)
    return np.stack([first, *sizes], axis=1).cumsum(axis=1)


def _numbers(heads: Array, matrices: Array) -> dict[Column, tuple[Any, Any]]:
    """For each column how many numbers it holds, and of how many bits."""
    has = {name: heads[name].astype(np.int64) for name in FIELDS if name not in ("passage_scale", "levels")}
    tokens, starts, ends, ids = has["tokens"], has["starts"], has["ends"], 8 * has["id_bytes"]
    filled, rows, entries = (matrices[name].sum(axis=1, dtype=np.int64) for name in ("filled", "row_bits", "entries"))
    return {
        Column.TOKEN_IDS: (tokens, ids),
        Column.FLAGS: (tokens, FLAG_BITS),
        Column.START_POSITIONS: (tokens, 1),
        Column.END_POSITIONS: (tokens, 1),
        Column.START_VECTORS: (starts * has["dense"], has["vector_bits"]),
        Column.END_VECTORS: (ends * has["dense"], has["vector_bits"]),
        Column.START_SPANS: (starts * has["span"], has["span_bits"]),
        Column.END_SPANS: (ends * has["span"], has["span_bits"]),
        Column.START_SCALES: (starts, has["scale_bits"]),
        Column.START_SPAN_SCALES: (starts, has["span_scale_bits"]),
        Column.END_SCALES: (ends, has["scale_bits"]),
        Column.END_SPAN_SCALES: (ends, has["span_scale_bits"]),
        Column.PASSAGE_VECTOR: (has["pooled"], 8),
        Column.TERMS: (tokens, 1),
        Column.OTHER_TERMS: (has["other_terms"], ids),
        Column.IMPACTS: (has["impacts"], 32),
        Column.TERM_IMPACTS: (has["terms"], has["impact_bits"]),
        Column.FILLED: (tokens * matrices.shape[1], 1),
        Column.COUNTS: (filled, has["count_bits"]),
        Column.ROWS: (rows, 1),
        Column.VALUES: (entries, has["value_bits"]),
        Column.OFFSETS: (tokens, 8 * OFFSET_BYTES[np.minimum(has["offset_kind"], 3)]),
    }


def alike(heads: Array, matrices: Array) -> bool:
    """Whether all blocks are packed in the same way, as those of one model mostly are."""
    same = all((heads[name] == heads[name][0]).all() for name in _ALIKE)
    return bool(same and (matrices["n"] == matrices["n"][0]).all())


def row_bytes(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes that hold so many bits."""
    return (bits + 7) // 8


def damaged(how: str) -> IndexDamaged:
    """The error for a block that is not what it was."""
    remedy = "`sparc-search index verify --repair` makes it again from the stored text of its document"
    return IndexDamaged(f"a stored phrase block {how}", remedy)
