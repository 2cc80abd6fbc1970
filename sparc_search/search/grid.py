"""Sums that come out the same in any order.

Question weights are rounded to a grid so fine that nothing visible is lost, and so coarse that every sum of (grid value
x stored integer) fits the floats it is added in exactly. Such sums do not depend on their order, on the BLAS, on
threads, or on which passages are scored together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, ldexp
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# 2^35 x 2^7 (int8) x 2^10 (dimensions) and 2^35 x 2^8 (uint8) x 2^9 (positions) stay below 2^53; impacts have 9 bits
# and spread over a few powers of two.
GRID_BITS = 35
VECTOR_BITS = 28
_SINGLE_BITS = 24

_FEW = 1 << 16
"""Numbers that are multiplied as doubles."""

_PRODUCTS = 1 << 18
"""Products at once. They stay in the cache, and a BLAS does not wake up a second thread for so few."""

AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)


def on_grid(weights: Sequence[float]) -> list[float]:
    """Weights rounded to multiples of one power of two, the largest of them to `GRID_BITS` bits.

    They are few: numpy would take longer to begin than this takes.
    """
    step = _step(max(map(abs, weights), default=0.0), GRID_BITS)
    return [round(weight / step) * step for weight in weights]


def vector_on_grid(vector: NDArray[np.floating]) -> Floats:
    """The same for a vector, to `VECTOR_BITS` bits."""
    exact = vector.astype(np.float64)
    step = _step(float(np.abs(exact).max(initial=0.0)), VECTOR_BITS)
    on: Floats = np.rint(exact / step) * step
    return on


def _step(largest: float, bits: int) -> float:
    """The power of two that the largest number is to be a multiple of."""
    _, exponent = frexp(largest)
    return ldexp(1.0, exponent - bits)


def exact_products(stored: Sequence[NDArray[np.int8]], vector: NDArray[np.floating], largest: int = 128) -> Floats:
    """The inner products of rows (whose dimensions lie side by side in these arrays) with a vector on a grid.

    No stored number is larger than `largest`, nor smaller than its negative.

    Single floats are twice as fast as doubles. So the vector is cut into parts of so few bits that single floats hold
    every sum exactly; how it is cut changes nothing. A few rows are not worth it.
    """
    on = vector_on_grid(vector)
    rows, width = len(stored[0]), sum(columns.shape[1] for columns in stored)
    if rows * width <= _FEW:
        total: Floats = np.einsum("ij,j->i", _joined(stored, slice(None), np.float64), on)
        return total
    whole, steps = _parts(on, largest * width)
    total, some = np.empty(rows), max(_PRODUCTS // whole.size, 1)
    for at in range(0, rows, some):
        part = slice(at, at + some)
        total[part] = (_joined(stored, part, np.float32) @ whole).astype(np.float64) @ steps
    return total


def _joined(stored: Sequence[NDArray[np.int8]], rows: slice, kind: type[AnyFloat]) -> NDArray[AnyFloat]:
    """Some rows, all their dimensions."""
    if len(stored) == 1:
        return stored[0][rows].astype(kind)
    return np.concatenate([columns[rows] for columns in stored], axis=1, dtype=kind)


def _parts(vector: Floats, spread: int) -> tuple[NDArray[np.float32], Floats]:
    """(dimensions, parts) whole numbers, coarsest first, and what one of them stands for: together the vector.

    Rows whose values add up to at most `spread` have sums with each part that single floats hold. What the first part
    leaves is at most half of its step, so that the others may have a bit more.
    """
    _, exponent = frexp(float(np.abs(vector).max(initial=0.0)))
    bits = max(1, _SINGLE_BITS - (spread - 1).bit_length())
    found: list[Floats] = []
    steps: list[float] = []
    rest, done = vector, 0
    while not found or rest.any():
        done += bits + bool(found)
        steps.append(ldexp(1.0, exponent - done))
        found.append(np.rint(rest / steps[-1]))
        rest = rest - found[-1] * steps[-1]
    return np.stack(found, axis=1).astype(np.float32), np.array(steps)
