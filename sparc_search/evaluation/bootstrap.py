"""Confidence intervals by the bootstrap (Efron): draw the questions again and again, with replacement.

Questions on one paragraph are right or wrong together more often than by chance, so whole *groups* are drawn: an
interval that draws single questions would be too narrow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDS = 2000
_AT_ONCE = 2_000_000


def interval(
    values: ArrayLike, groups: Sequence[Hashable] | None = None, *, rounds: int = ROUNDS, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of the mean that holds 95 %; `groups` says which values are drawn together."""
    sums, counts = grouped(values, groups)
    if not len(sums):
        return (0.0, 0.0)
    means = np.concatenate(list(_means(sums, counts, rounds, np.random.default_rng(seed))))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def grouped(values: ArrayLike, groups: Sequence[Hashable] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of the values of each group."""
    numbers = np.asarray(values, np.float64)
    if groups is None:
        return numbers, np.ones(len(numbers))
    order: dict[Hashable, int] = {}
    owner = np.array([order.setdefault(group, len(order)) for group in groups], np.int64)
    sums = np.bincount(owner, numbers, len(order)).astype(np.float64)
    return sums, np.bincount(owner, minlength=len(order)).astype(np.float64)


def _means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], rounds: int, random: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    size = len(sums)
    step = max(1, _AT_ONCE // size)
    for first in range(0, rounds, step):
        drawn = random.integers(size, size=(min(step, rounds - first), size))
        yield sums[drawn].sum(1) / counts[drawn].sum(1)
