"""Numbers in fewer bits than numpy has types for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_MIDDLE = 8  # of the sixteen values of four bits


def pack_nibbles(codes: Bytes) -> Bytes:
    """Numbers below 16, two in a byte, the first in its low half."""
    padded = np.append(codes, np.zeros(len(codes) % 2, np.uint8))
    return np.bitwise_or(padded[::2], np.left_shift(padded[1::2], 4), dtype=np.uint8)


def nibbles_at(packed: Bytes, places: NDArray[np.int64]) -> Bytes:
    """Some of the numbers."""
    shifts = ((places & 1) << 2).astype(np.uint8)
    found: Bytes = (packed[places >> 1] >> shifts) & np.uint8(15)
    return found


def fits_halves(matrix: NDArray[np.int8]) -> bool:
    """Whether `pack_halves` can hold it."""
    low, high = int(matrix.min(initial=0)), int(matrix.max(initial=0))
    return matrix.shape[1] % 2 == 0 and low >= -_MIDDLE and high < _MIDDLE


def pack_halves(matrix: NDArray[np.int8]) -> Bytes:
    """A matrix of numbers from -8 to 7: the left half in the low halves of the bytes, the right in the high ones."""
    left, right = np.split((matrix + _MIDDLE).astype(np.uint8), 2, axis=1)
    return np.bitwise_or(left, np.left_shift(right, 4), dtype=np.uint8)


def halves(packed: Bytes) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The left and the right half of such a matrix."""
    left, right = (packed & 15).view(np.int8), (packed >> 4).view(np.int8)
    left -= _MIDDLE
    right -= _MIDDLE
    return left, right


def pack_places(places: NDArray[Any], size: int) -> Bytes:
    """Ascending numbers below `size` as a bit each."""
    bits = np.zeros(size, bool)
    bits[places] = True
    return np.packbits(bits)


def places_of(packed: Bytes) -> NDArray[np.int64]:
    """The numbers whose bits are set."""
    return np.flatnonzero(np.unpackbits(packed))


def shorten(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Positive values of 9 significant bits as 16 bits: no sign, 8 of exponent, 8 behind the leading one."""
    return (values.astype("<f4").view("<u4") >> 15).astype("<u2")


def unshorten(values: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values that `shorten` was given."""
    return (values.astype("<u4") << 15).view("<f4")
