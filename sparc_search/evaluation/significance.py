"""Is one run better than another, on the same questions? Paired tests, because both met the same hard questions.

- exact match: McNemar's test in its exact form, a two-sided sign test over the questions that only one run got right
  (McNemar 1947);
- F1: Fisher's randomisation test: under the null hypothesis the two results of a question could be swapped;
- both: the bootstrap interval of the difference, drawn by groups.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UsageError
from .bootstrap import interval

_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class MeasureDifference:
    """One measure of two runs, in percent; positive if the second is better."""

    first: float
    second: float
    difference: float
    interval: tuple[float, float]
    p_value: float


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs on the questions they share."""

    questions: int
    only_first: int
    """Questions that only the first run got right."""
    only_second: int
    exact_match: MeasureDifference
    f1: MeasureDifference


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p-value of McNemar's exact test."""
    count = only_first + only_second
    tail = sum(math.comb(count, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**count))


def randomisation(differences: ArrayLike, *, rounds: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of Fisher's randomisation test for the mean of paired differences being zero."""
    values = np.asarray(differences, np.float64)
    values = values[values != 0]  # a pair without a difference swaps into itself
    if not len(values):
        return 1.0
    random = np.random.default_rng(seed)
    seen, extreme = abs(values.sum()) - 1e-9, 0
    step = max(1, _AT_ONCE // len(values))
    for first in range(0, rounds, step):
        signs = random.integers(0, 2, size=(min(step, rounds - first), len(values))) * 2 - 1
        extreme += int((np.abs(signs @ values) >= seen).sum())
    return (extreme + 1) / (rounds + 1)


Rows = Sequence[Mapping[str, Any]]
"""Rows of a saved report: `id`, `exact_match`, `f1` and perhaps `group`."""


def compare(first: Rows, second: Rows, *, seed: int = 0) -> RunComparison:
    """Compare two runs on the questions that both have."""
    others = {row["id"]: row for row in second}
    pairs = [(row, others[row["id"]]) for row in first if row["id"] in others]
    if not pairs:
        raise UsageError("the two runs have no question in common", "compare runs over the same questions")
    em = [(float(a["exact_match"]), float(b["exact_match"])) for a, b in pairs]
    overlap = [(float(a["f1"]), float(b["f1"])) for a, b in pairs]
    groups = [a.get("group") or a["id"] for a, _ in pairs]
    only_first, only_second = sum(a > b for a, b in em), sum(b > a for a, b in em)
    p_value = randomisation([b - a for a, b in overlap], seed=seed)
    return RunComparison(
        len(pairs),
        only_first,
        only_second,
        _difference(em, groups, mcnemar(only_first, only_second), seed),
        _difference(overlap, groups, p_value, seed),
    )


def _difference(
    pairs: Sequence[tuple[float, float]], groups: Sequence[Hashable], p_value: float, seed: int
) -> MeasureDifference:
    first, second = (100 * sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
    low, high = interval([100 * (b - a) for a, b in pairs], groups, seed=seed)
    bounds = round(low, 2), round(high, 2)
    return MeasureDifference(round(first, 2), round(second, 2), round(second - first, 2), bounds, p_value)
