"""Paired tests, against values worked out by hand."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from sparc_search.errors import UsageError
from sparc_search.evaluation.significance import compare, mcnemar, randomisation


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [(2, 10, 2 * (1 + 12 + 66) / 4096), (0, 5, 2 / 32), (6, 6, 1.0), (0, 0, 1.0), (1, 0, 1.0)],
)
def test_mcnemar(first: int, second: int, p_value: float) -> None:
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(p_value)


def test_mcnemar_of_thousands() -> None:
    assert mcnemar(2000, 3000) < 1e-40


def test_randomisation_is_near_the_full_enumeration() -> None:
    differences = [0.5, -0.2, 0.9, 0.4, 0.0, 0.3, 0.7]
    seen = abs(sum(differences))
    swaps = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in product((1, -1), repeat=7)]
    exact = sum(swap >= seen - 1e-9 for swap in swaps) / len(swaps)
    assert randomisation(differences) == pytest.approx(exact, abs=0.02)
    assert randomisation([0.0, 0.0]) == 1.0


def rows(right: dict[str, float]) -> list[dict[str, Any]]:
    return [{"id": id, "exact_match": value, "f1": value, "group": id[:2]} for id, value in right.items()]


def test_pairs_are_made_by_id() -> None:
    first = rows({"a1": 1.0, "a2": 0.0, "b1": 0.0, "c1": 1.0})
    second = rows({"b1": 1.0, "a2": 1.0, "a1": 1.0, "other": 0.0})
    found = compare(first, second)
    assert (found.questions, found.only_first, found.only_second) == (3, 0, 2)
    assert found.exact_match.difference == pytest.approx(66.67)
    assert found.exact_match.p_value == 0.5
    assert found.exact_match.interval[0] <= found.exact_match.difference <= found.exact_match.interval[1]


def test_a_real_difference_is_seen_and_chance_is_not() -> None:
    draw = random.Random(1)
    base = {chr(256 + n): float(draw.random() < 0.5) for n in range(1000)}
    better = {id: float(value or draw.random() < 0.15) for id, value in base.items()}
    shuffled = {id: float(draw.random() < 0.5) for id in base}
    clear, none = compare(rows(base), rows(better)), compare(rows(base), rows(shuffled))
    assert clear.exact_match.p_value < 0.001
    assert clear.f1.p_value < 0.001
    assert clear.f1.interval[0] > 0
    assert none.exact_match.p_value > 0.01
    assert none.f1.interval[0] < 0 < none.f1.interval[1]


def test_runs_without_a_common_question() -> None:
    with pytest.raises(UsageError, match="in common"):
        compare(rows({"a": 1.0}), rows({"b": 1.0}))
