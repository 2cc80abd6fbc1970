"""Ascending numbers below a bound, in little more bits than their number and the bound leave open (Elias, Fano 1974).

Some of the kept positions of a passage have weight for an n-gram: `count` of `kept`. Each number is cut in two. Its
lowest bits stand as they are, number after number; so many of them that there are about as many different heads (what
is left of a number) as numbers. The heads are one row of bits: number i with the head h sets bit h + i, so the bits
that are set count the numbers, and those that are not count the heads.

    of 65 positions   3, 17, 18, 40 (count 4, four low bits)
    low bits          3  1  2  8
    heads             0  1  1  2       bits 0, 2, 3, 5 of 4 + (64 >> 4) = 8

That takes 24 bits; a bit for each position would take 65, and where that is less it is done instead. What is taken
depends on `count` and `kept` alone: whoever knows them finds a column without reading those before it.

The same in C: `shape_of` and `add_column` of `_best_spans.c`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..block_batch import Ints, before, ranges
from .packing import Bytes, numbers_at, put_numbers, unpack_bits


class Shape(NamedTuple):
    """How the numbers of some columns are coded."""

    low: Ints  # bits of each number that stand as they are; none: a bit for each position
    heads: Ints  # bits of all heads together

    def bits(self, counts: Ints) -> Ints:
        """What each column takes."""
        return counts * self.low + self.heads


def shape_of(counts: Ints, kept: Ints) -> Shape:
    """The shape of columns by their counts and their bounds."""
    filled = counts > 0
    low = np.where(filled, _lengths(kept // np.maximum(counts, 1)) - 1, 0)
    coded = Shape(low, counts + (np.maximum(kept - 1, 0) >> low))
    plain = (low == 0) | (coded.bits(counts) >= kept)
    return Shape(np.where(plain, 0, low), np.where(plain, kept * filled, coded.heads))


def _lengths(numbers: Ints) -> Ints:
    """How many bits each number has, at least one."""
    return np.maximum(np.frexp(numbers)[1], 1).astype(np.int64)


def row_bits(counts: Ints, rows: Ints, kept: int) -> NDArray[np.bool_]:
    """The columns end to end, as bits."""
    shape = shape_of(counts, np.full(len(counts), kept))
    sizes = shape.bits(counts)
    begins, number = before(sizes).repeat(counts), ranges(np.zeros_like(counts), counts)
    low = shape.low.repeat(counts)
    bits = np.zeros(int(sizes.sum()), bool)
    put_numbers(bits, begins + number * low, low, rows)
    bits[begins + (counts * shape.low).repeat(counts) + (rows >> low) + number * (low > 0)] = True
    return bits


def rows_at(packed: Bytes, begins: Ints, counts: Ints, kept: Ints) -> Ints:
    """The numbers of the columns that begin at these bits; `ValueError` if they cannot be so many, or not below."""
    low, heads = shape_of(counts, kept)
    found = unpack_bits(packed)[ranges(begins + counts * low, heads)].nonzero()[0]
    column = np.arange(len(counts)).repeat(heads)[found]
    if not np.array_equal(np.bincount(column, minlength=len(counts)), counts):
        raise ValueError("counts")
    number, low = ranges(np.zeros_like(counts), counts), low[column]
    head = found - before(heads)[column] - number * (low > 0)
    rows: Ints = (head << low) | numbers_at(packed, begins[column] + number * low, low)
    if (rows >= kept[column]).any():
        raise ValueError("rows")
    return rows
