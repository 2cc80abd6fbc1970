"""Postings in as few bits as the rows and values of a segment need, each where its number says.

A posting is one number: the row in its lowest bits, and above it how far the value lies above the least of the segment.
Ten thousand passages need 14 bits for a row; values are floats of nine significant bits (`packing.shorten`) that lie
within some powers of two, and 11 bits tell them apart. Gaps between rows would be smaller, but of most features there
is one posting, or few; and what is long is also searched for single rows, which begins in the middle.

The same in C: `Packed` of `_sums.c`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..packing import numbers_at, pack_numbers

SPARE = 8
"""Bytes behind the last posting: each can be read as one word."""


_AT_ONCE = 1 << 20
"""Postings that are packed in one go; eight of them end with a byte, whatever their width."""


class Frame(NamedTuple):
    """What the postings of a segment have in common."""

    row_bits: int
    value_bits: int
    least: int

    @property
    def width(self) -> int:
        """Bits of a posting."""
        return self.row_bits + self.value_bits

    @property
    def most(self) -> int:
        """The largest value that it can hold."""
        return self.least + (1 << self.value_bits) - 1


class Entries(NamedTuple):
    """Some postings, unpacked."""

    rows: NDArray[np.int64]
    values: NDArray[np.uint16]  # short floats


def frame_of(passages: int, least: int, most: int) -> Frame:
    """The frame for rows below a number of passages, and values from the least to the most."""
    return Frame(max(passages - 1, 0).bit_length(), (most - least).bit_length(), least)


def pack(frame: Frame, rows: NDArray[Any], values: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """The postings, without the spare bytes."""
    parts = [np.zeros(0, np.uint8)]
    for at in range(0, len(rows), _AT_ONCE):
        above = values[at : at + _AT_ONCE].astype(np.int64) - frame.least
        parts.append(pack_numbers(rows[at : at + _AT_ONCE].astype(np.int64) | above << frame.row_bits, frame.width))
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class PackedPostings:
    """The postings of a segment, end to end."""

    data: NDArray[np.uint8]
    frame: Frame

    def holds(self, count: int) -> bool:
        """Whether there is room for just so many."""
        return len(self.data) == -(-count * self.frame.width // 8) + SPARE

    def bytes_of(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """From which byte to which the postings from each begin up to its end stand."""
        return begins * self.frame.width // 8, -(-ends * self.frame.width // 8)

    def entries(self, some: Sequence[slice]) -> Entries:
        """These postings, slice by slice."""
        found = [self._unpacked(one.start, one.stop) for one in some]
        numbers = np.concatenate([np.zeros(0, np.int64), *found])
        above = numbers >> self.frame.row_bits
        return Entries(numbers & ((1 << self.frame.row_bits) - 1), (above + self.frame.least).astype(np.uint16))

    def _unpacked(self, begin: int, end: int) -> NDArray[np.int64]:
        first, last = begin * self.frame.width // 8, -(-end * self.frame.width // 8)
        places = np.arange(begin, end) * self.frame.width - 8 * first
        return numbers_at(self.data[first:last], places, np.full(end - begin, self.frame.width))
