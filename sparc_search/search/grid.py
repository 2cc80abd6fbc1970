"""Sums that come out the same in any order.

Question weights are rounded to a grid so fine that nothing visible is lost, and so coarse that every sum of (grid value
x stored integer) fits the floats it is added in exactly. Such sums do not depend on their order, on the BLAS, on
threads, or on which passages are scored together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import frexp

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# 2^35 x 2^7 (int8) x 2^10 (dimensions) and 2^35 x 2^8 (uint8) x 2^9 (positions) stay below 2^53; impacts have 9 bits
# and spread over a few powers of two.
GRID_BITS = 35
VECTOR_BITS = 28
_SINGLE_BITS = 24


def on_grid(weights: ArrayLike, bits: int = GRID_BITS) -> Floats:
    """Weights rounded to multiples of one power of two, the largest of them to so many bits."""
    exact = np.asarray(weights, np.float64)
    _, exponent = np.frexp(np.abs(exact).max(initial=0.0))
    step = np.ldexp(1.0, int(exponent) - bits)
    rounded: Floats = np.rint(exact / step) * step
    return rounded


def exact_products(stored: Sequence[NDArray[np.int8]], vector: NDArray[np.floating]) -> Floats:
    """The inner products of rows (whose dimensions lie side by side in these arrays) with a vector on a grid.

    Single floats are twice as fast as doubles. So the vector is cut into parts of so few bits that single floats hold
    every sum exactly; how it is cut changes nothing.
    """
    on = on_grid(vector, VECTOR_BITS)
    _, exponent = frexp(float(np.abs(on).max(initial=0.0)))
    total, at = np.zeros(len(stored[0])), 0
    for columns in stored:
        own = on[at : at + columns.shape[1]]
        at += columns.shape[1]
        if columns.size:
            single = columns.astype(np.float32)
            largest = max(int(columns.max()), -int(columns.min()), 1)
            bits = max(1, _SINGLE_BITS - (largest * columns.shape[1]).bit_length())
            for whole, step in _parts(own, exponent, bits):
                total += np.einsum("ij,j->i", single, whole).astype(np.float64) * step
    return total


def _parts(vector: Floats, exponent: int, bits: int) -> Iterator[tuple[NDArray[np.float32], float]]:
    """Whole numbers of at most `bits` bits and what one of them stands for, coarsest first; they sum to the vector."""
    rest, done = vector, 0
    while np.any(rest):
        done += bits
        step = float(np.ldexp(1.0, exponent - done))
        whole = np.rint(rest / step)
        yield whole.astype(np.float32), step
        rest = rest - whole * step
