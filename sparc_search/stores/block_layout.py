"""How the bytes of phrase blocks are divided, for one block or for many at once.

head      magic with format number, CRC-32 of all that follows, counts, kinds, scale of the passage vector, levels
matrices  scale, entries, columns that have any, and n of each sparse matrix, those of the starts first
columns   one after the other, in the order of `Column`, little-endian, without gaps
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged
from ..records import SIDES, Side

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

FIELDS: Final = dict(HEAD.fields or {})
"""Of each part of a head its type, and where it stands."""
_KIND_BYTES: Final = np.array(
    [
        FIELDS[name][1] + byte
        for name in FIELDS
        if name.endswith(("_bytes", "_bits", "_matrices")) or name in ("dense", "span", "pooled")
        for byte in range(FIELDS[name][0].itemsize)
    ]
)
"""Bytes of a head that say how the columns are to be read."""


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

    @classmethod
    def of(cls, side: Side, what: str) -> Column:
        """A column that both sides have: `of("end", "vectors")` is END_VECTORS."""
        return cls[f"{side}_{what}".upper()]


Array = NDArray[Any]

ID_TYPES: Final[dict[int, np.dtype[Any]]] = {2: np.dtype("<u2"), 4: np.dtype("<i4")}
COUNT_TYPES: Final[dict[int, np.dtype[Any]]] = {1: np.dtype("<u1"), 2: np.dtype("<u2")}
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
    """(blocks, columns + 1) where each column begins, and behind it where the next does. All must be `alike`."""
    first = heads[0]
    starts, ends = row_bytes(heads["starts"].astype(np.int64)), row_bytes(heads["ends"].astype(np.int64))
    split = int(first["start_matrices"])
    filled, value_bits = matrices["filled"].astype(np.int64), int(first["value_bits"])
    counts: dict[str, Any] = {"blocks": np.ones(len(heads), np.int64)}
    counts |= {name: heads[name].astype(np.int64) for name in ("tokens", "starts", "ends", "terms")}
    counts["positions"] = row_bytes(counts["tokens"])
    counts["rows"] = filled[:, :split].sum(axis=1) * starts + filled[:, split:].sum(axis=1) * ends
    counts["values"] = (matrices["entries"].sum(axis=1, dtype=np.int64) * value_bits + 7) // 8
    counts["offsets"] = counts["tokens"] * OFFSET_BYTES[np.minimum(heads["offset_kind"], 3)]
    counted = np.stack([counts[name] for name in _COUNTED], axis=1)
    return counted @ _ends_by_count(_raw(heads)[0, _KIND_BYTES].tobytes(), matrices.shape[1])


_COUNTED: Final = ("blocks", "tokens", "starts", "ends", "terms", "positions", "rows", "values", "offsets")
"""What the sizes of columns depend on, the last four in bytes."""


@lru_cache(maxsize=64)
def _ends_by_count(kinds: bytes, matrices: int) -> NDArray[np.int64]:
    """(counted, columns + 1) by how many bytes one more of something moves the ends of the columns."""
    raw = np.zeros(HEAD.itemsize, np.uint8)
    raw[_KIND_BYTES] = np.frombuffer(kinds, np.uint8)
    head: Any = raw.view(HEAD)[0]
    ids, scales, dense, span = (int(head[name]) for name in ("id_bytes", "scale_bytes", "dense", "span"))
    vector, coherency = dense * int(head["vector_bits"]) // 8, span * int(head["span_bits"]) // 8
    sizes: dict[Column, tuple[str, int]] = {
        Column.TOKEN_IDS: ("tokens", ids),
        Column.FLAGS: ("tokens", 1),
        Column.PASSAGE_VECTOR: ("blocks", int(head["pooled"])),
        Column.LEX_IDS: ("terms", ids),
        Column.LEX_IMPACTS: ("terms", int(head["impact_bytes"])),
        Column.COUNTS: ("tokens", matrices * int(head["count_bytes"])),
        Column.ROWS: ("rows", 1),
        Column.VALUES: ("values", 1),
        Column.OFFSETS: ("offsets", 1),
    }
    for side in SIDES:
        sizes[Column.of(side, "positions")] = ("positions", 1)
        for what, size in (("vectors", vector), ("spans", coherency), ("scales", scales), ("span_scales", scales)):
            sizes[Column.of(side, what)] = (f"{side}s", size)
    table = np.zeros((len(_COUNTED), 1 + len(Column)), np.int64)
    table[_COUNTED.index("blocks"), 0] = HEAD.itemsize + matrices * MATRIX.itemsize
    for column, (counted, size) in sizes.items():
        table[_COUNTED.index(counted), 1 + column] = size
    return table.cumsum(axis=1)


def alike(heads: Array, matrices: Array) -> bool:
    """Whether all blocks are packed in the same way, as those of one model mostly are."""
    raw = _raw(heads)[:, _KIND_BYTES]
    return bool((raw == raw[0]).all() and (matrices["n"] == matrices["n"][0]).all())


def _raw(heads: Array) -> NDArray[np.uint8]:
    """(blocks, bytes) the heads as they are stored."""
    return heads.view(np.uint8).reshape(len(heads), HEAD.itemsize)


def row_bytes(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes that hold so many bits."""
    return (bits + 7) // 8


def damaged(how: str) -> IndexDamaged:
    """The error for a block that is not what it was."""
    remedy = "`sparc-search index verify --repair` makes it again from the stored text of its document"
    return IndexDamaged(f"a stored phrase block {how}", remedy)
