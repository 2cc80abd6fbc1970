"""Plots are PNG files, and the same figures make the same file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.evaluation import plots
from sparc_search.evaluation.calibration import bands_of, calibration_error
from sparc_search.evaluation.cost import CostPoint
from sparc_search.evaluation.plots import Point

BANDS = bands_of([(0.05, False), (0.55, True), (0.55, False), (0.95, True)])
COST = [
    CostPoint(10.0**n, 10**n, 10**n, 10**n * 1000, 0.01 * n, 0.02 * n, 70 - n, 75, {"exact_match": (60 - n, 80 - n)}, 9)
    for n in (2, 3, 4)
]
POINTS = [Point("index", 0.05, 60.0, (58.0, 62.0)), Point("reader", 5.0, 65.0), Point("none", 0.0, 1.0)]


@pytest.mark.extras
@pytest.mark.parametrize(
    "draw",
    [
        lambda path: plots.accuracy_against_latency(POINTS, path),
        lambda path: plots.recall_curves({"a": [1, 0, 7], "b": []}, path),
        lambda path: plots.calibration_curve(BANDS, path),
        lambda path: plots.cost_curves(COST, path),
    ],
)
def test_png(draw: Callable[[Path], Path], tmp_path: Path) -> None:
    first, second = draw(tmp_path / "new" / "a.png"), draw(tmp_path / "b.png")
    assert first.read_bytes().startswith(b"\x89PNG")
    assert first.read_bytes() == second.read_bytes()
    assert len(first.read_bytes()) > 5000


def test_bands_and_their_error() -> None:
    assert [(band.low, band.answers, band.right) for band in BANDS] == [(0.0, 1, 0.0), (0.5, 2, 0.5), (0.9, 1, 1.0)]
    assert calibration_error(BANDS) == pytest.approx((0.05 + 2 * 0.05 + 0.05) / 4)
