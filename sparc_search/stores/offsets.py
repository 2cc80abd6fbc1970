"""Character offsets of tokens, as the gap before and the length of each.

kind 0   one byte: the gap in its low half, the length in its high half
kind 1   a byte each
kind 2   two bytes each
kind 3   start and end as they are, four bytes each
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .packing import pack_halves

_PLAIN = 3
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), _PLAIN: np.dtype("<i4")}


def pack_offsets(offsets: NDArray[np.int32]) -> tuple[int, NDArray[Any]]:
    """The kind, and the bytes."""
    starts, ends = offsets[:, 0].astype(np.int64), offsets[:, 1].astype(np.int64)
    gaps = np.stack([starts - np.append(0, ends[:-1])[: len(starts)], ends - starts], axis=1)
    low, high = int(gaps.min(initial=0)), int(gaps.max(initial=0))
    kind = _PLAIN if low < 0 or high > 0xFFFF else 2 if high > 0xFF else 1 if high > 0xF else 0
    if kind == 0:
        return kind, pack_halves((gaps - 8).astype(np.int8))
    return kind, (offsets if kind == _PLAIN else gaps).astype(_TYPES[kind])


def unpack_offsets(kind: int, data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The offsets (tokens, 2)."""
    if kind == _PLAIN:
        plain: NDArray[np.int32] = data.view(_TYPES[kind]).reshape(-1, 2).astype(np.int32)
        return plain
    if kind == 0:
        gaps, lengths = data & np.uint8(15), data >> np.uint8(4)
    else:
        gaps, lengths = data.view(_TYPES[kind]).reshape(-1, 2).T
    offsets = np.empty((len(gaps), 2), np.int32)
    np.add(gaps, lengths, dtype=np.int32).cumsum(out=offsets[:, 1])
    np.subtract(offsets[:, 1], lengths, out=offsets[:, 0])
    return offsets
