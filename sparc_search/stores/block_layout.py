"""How the bytes of phrase blocks are divided, for one block or for many at once.

head      magic with format number, CRC-32 of all that follows, counts, kinds, scale of the passage vector, levels
matrices  scale, entries, columns that have any, and n of each sparse matrix, those of the starts first
columns   one after the other, in the order of `Column`, little-endian, without gaps
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged

FORMAT: Final = 2
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
        ("id_bytes", "u1"),  # of token ids and terms: 2 or 4
        ("offset_kind", "u1"),
        ("vector_bits", "u1"),  # 4 or 8, as of the following two
        ("span_bits", "u1"),
        ("value_bits", "u1"),
        ("scale_bytes", "u1"),  # 2 (nine significant bits) or 4, as of the following
        ("impact_bytes", "u1"),
        ("count_bytes", "u1"),  # 1 or 2
        ("start_matrices", "u1"),
        ("end_matrices", "u1"),
        ("passage_scale", "<f8"),
        ("levels", "u1", 16),  # what the sixteen values of four bits stand for
    ]
)
MATRIX: Final = np.dtype([("scale", "<f8"), ("entries", "<u4"), ("filled", "<u2"), ("n", "<u2")])

CHECKED_FROM: Final = 8
"""The checksum covers everything from here on."""

KINDS: Final = tuple(name for name in HEAD.names or () if name.endswith(("_bytes", "_bits", "_matrices")))
"""What says how the columns are to be read."""


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
    LEX_IDS = 13
    LEX_IMPACTS = 14
    COUNTS = 15  # entries of each column of each matrix
    ROWS = 16  # a bit for each kept position, for each column that has entries
    VALUES = 17  # one for each bit that is set
    OFFSETS = 18


Array = NDArray[Any]

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
    count = {name: heads[name].astype(np.int64) for name in HEAD.names or () if name not in ("levels", "passage_scale")}
    tokens, starts, ends = count["tokens"], count["starts"], count["ends"]
    entries = matrices["entries"].sum(axis=1, dtype=np.int64)
    filled = matrices["filled"].astype(np.int64)
    of_starts = np.arange(matrices.shape[1])[None] < count["start_matrices"][:, None]
    widths = np.where(of_starts, row_bytes(starts)[:, None], row_bytes(ends)[:, None])
    sizes = (
        HEAD.itemsize + matrices.shape[1] * MATRIX.itemsize + 0 * tokens,
        tokens * count["id_bytes"],
        tokens,
        row_bytes(tokens),
        row_bytes(tokens),
        starts * count["dense"] * count["vector_bits"] // 8,
        ends * count["dense"] * count["vector_bits"] // 8,
        starts * count["span"] * count["span_bits"] // 8,
        ends * count["span"] * count["span_bits"] // 8,
        starts * count["scale_bytes"],
        starts * count["scale_bytes"],
        ends * count["scale_bytes"],
        ends * count["scale_bytes"],
        count["pooled"],
        count["terms"] * count["id_bytes"],
        count["terms"] * count["impact_bytes"],
        tokens * matrices.shape[1] * count["count_bytes"],
        (filled * widths).sum(axis=1),
        (entries * count["value_bits"] + 7) // 8,
        tokens * OFFSET_BYTES[np.minimum(heads["offset_kind"], 3)],
    )
    return np.cumsum(np.stack(sizes, axis=1), axis=1)


def row_bytes(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes that hold so many bits."""
    return (bits + 7) // 8


def damaged(how: str) -> IndexDamaged:
    """The error for a block that is not what it was."""
    remedy = "`sparc-search index verify` names its document: ingest that again"
    return IndexDamaged(f"a stored phrase block {how}", remedy)
