"""Numbers by size: how many fall into each of some bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bin i holds the `counts[i]` values from `edges[i]` up to (the last one including) `edges[i + 1]`."""

    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    values: int = 0
    smallest: float = 0.0
    largest: float = 0.0
    mean: float = 0.0
    median: float = 0.0


def histogram(values: ArrayLike, bins: int = 20) -> Histogram:
    """The histogram of some numbers, none of them below zero, from zero on; whole numbers get whole bins."""
    array = np.asarray(values)
    if not array.size:
        return Histogram()
    top = float(array.max())
    if np.issubdtype(array.dtype, np.integer):
        width = max(-(-(int(top) + 1) // bins), 1)
        edges = np.arange(0, int(top) + width + 1, width, dtype=np.float64)
    else:
        edges = np.linspace(0.0, top or 1.0, bins + 1)
    counts, _ = np.histogram(array, edges)
    return Histogram(
        tuple(edges.tolist()),
        tuple(counts.tolist()),
        int(array.size),
        float(array.min()),
        top,
        float(array.mean()),
        float(np.median(array)),
    )
