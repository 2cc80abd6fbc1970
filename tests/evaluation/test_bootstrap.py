"""Bootstrap intervals: around the mean, wider where questions are right or wrong together."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from sparc_search.evaluation.bootstrap import interval


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_around_the_mean_and_within_the_values(values: list[float]) -> None:
    low, high = interval(values, rounds=200)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert (low, high) == interval(values, rounds=200)


def test_as_wide_as_the_textbook_says() -> None:
    values = [1.0] * 300 + [0.0] * 700
    low, high = interval(values)
    wanted = 1.96 * math.sqrt(0.3 * 0.7 / 1000)
    assert abs((high - low) / 2 - wanted) < 0.1 * wanted
    assert low < 0.3 < high


def test_groups_are_drawn_as_a_whole() -> None:
    draw = random.Random(3)
    values, groups = [], []
    for group in range(100):
        right = float(draw.random() < 0.5)
        values += [right] * 10  # all questions of a paragraph are alike: ten times fewer independent draws
        groups += [group] * 10
    single, grouped = interval(values), interval(values, groups)
    ratio = (grouped[1] - grouped[0]) / (single[1] - single[0])
    assert 2.5 < ratio < 4  # the square root of ten


def test_nothing_to_draw() -> None:
    assert interval([]) == (0.0, 0.0)
