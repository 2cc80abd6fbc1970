"""Numbers in fewer bits than numpy has types for. The first of some stands in the lowest bits of the first byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_MIDDLE = 8  # of the sixteen values of four bits
SHORT = 15
"""Lowest bits of a float that one of nine significant bits does without."""
_WORD = np.dtype("<u8")


def pack_numbers(numbers: NDArray[Any], width: int) -> Bytes:
    """Numbers below 2^width (56 at most), one behind the other."""
    count = len(numbers)
    eights = np.zeros((-(-count // 8), 8), _WORD)  # they take `width` bytes, so each column begins at the same bits
    eights.reshape(-1)[:count] = numbers
    packed = np.zeros((len(eights), width + _WORD.itemsize), np.uint8)
    for number in range(8):
        byte, bit = divmod(number * width, 8)
        shifted = np.ascontiguousarray(eights[:, number] << np.uint64(bit))
        packed[:, byte : byte + _WORD.itemsize] |= shifted[:, None].view(np.uint8)
    return packed[:, :width].reshape(-1)[: -(-count * width // 8)]


def put_numbers(bits: NDArray[np.bool_], places: Ints, widths: Ints, numbers: Ints) -> None:
    """Numbers into bits, each with a place and a width of its own."""
    for bit in range(int(widths.max(initial=0))):
        wide = widths > bit
        bits[places[wide] + bit] = numbers[wide] >> bit & 1


def numbers_at(packed: Bytes, places: Ints, widths: Ints) -> Ints:
    """The numbers that begin at these bits, none wider than 56."""
    padded = np.append(packed, np.zeros(_WORD.itemsize, np.uint8))
    words = np.ndarray(len(packed) + 1, _WORD, padded, strides=(1,))[places >> 3]  # each byte begins one
    words >>= (places & 7).astype(np.uint64)
    found: Ints = words.astype(np.int64) & ((1 << widths) - 1)
    return found


def pack_bits(bits: NDArray[np.bool_]) -> Bytes:
    """Bits, eight in a byte."""
    return np.packbits(bits, bitorder="little")


def unpack_bits(packed: Bytes) -> Bytes:
    """Each bit as a number."""
    return np.unpackbits(packed, bitorder="little")


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
    return pack_bits(bits)


def places_of(packed: Bytes) -> Ints:
    """The numbers whose bits are set."""
    return np.flatnonzero(unpack_bits(packed))


def shorten(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Positive values of 9 significant bits as 16 bits: no sign, 8 of exponent, 8 behind the leading one."""
    return (values.astype("<f4").view("<u4") >> SHORT).astype("<u2")


def unshorten(values: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values that `shorten` was given."""
    return (values.astype("<u4") << SHORT).view("<f4")


def is_short(values: NDArray[np.float32]) -> bool:
    """Whether `shorten` loses nothing of them."""
    return np.array_equal(unshorten(shorten(values)), values)
