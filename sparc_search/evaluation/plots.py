"""Plots of measurements, as PNG files: accuracy against latency, recall, calibration, cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra
from .calibration import Band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .cost import CostPoint

_SHORTEST = 1e-6
COLOURS = ("#1f6f8b", "#d1495b", "#66a182", "#edae49", "#5c4d7d", "#2e4057", "#8d6a9f", "#a63c06")
MARKS = (("o", "-"), ("s", "--"), ("^", ":"))
"""Marks and lines: when the colours have been used up, they begin again with the next."""


@dataclass(frozen=True, slots=True)
class Point:
    """A system: how long a question takes, how many are right, and the interval of that."""

    name: str
    seconds: float
    exact_match: float
    interval: tuple[float, float] | None = None


def _figure(width: float = 6.4, height: float = 4.2) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("a plot", "eval") from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def _axes(figure: Figure, *place: int, title: str, x: str, y: str) -> Axes:
    axes: Axes = figure.add_subplot(*(place or (1, 1, 1)))
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.grid(True, color="#e0e0e0", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes


def _decades(axes: Axes, values: Sequence[float]) -> None:
    """A log scale over whole powers of ten, so that near values look near."""
    low = math.floor(math.log10(min(values, default=1.0)))
    high = max(low + 1, math.ceil(math.log10(max(values, default=1.0))))
    ticks = [10.0**power for power in range(low, high + 1)]
    axes.set_xscale("log")
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def _look(number: int) -> tuple[str, tuple[str, str]]:
    """Colour, mark and line of the n-th system."""
    return COLOURS[number % len(COLOURS)], MARKS[number // len(COLOURS) % len(MARKS)]


def _save(figure: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", metadata={"Software": None})  # the same plot is the same file
    return path


def accuracy_against_latency(points: Sequence[Point], path: Path) -> Path:
    """Each system at its seconds per question (log scale) and exact match."""
    figure = _figure()
    axes = _axes(figure, title="Accuracy against latency", x="seconds per question", y="exact match, %")
    _decades(axes, [max(point.seconds, _SHORTEST) for point in points])
    for number, point in enumerate(points):
        low, high = point.interval or (point.exact_match, point.exact_match)
        error = [[max(0.0, point.exact_match - low)], [max(0.0, high - point.exact_match)]]
        seconds = max(point.seconds, _SHORTEST)
        colour, (mark, _) = _look(number)
        axes.errorbar([seconds], [point.exact_match], yerr=error, fmt=mark, color=colour, capsize=3, label=point.name)
    axes.legend(fontsize=7, frameon=False)
    return _save(figure, path)


def recall_curves(ranks: Mapping[str, Sequence[int]], path: Path, deepest: int = 50) -> Path:
    """For each system the share of questions whose first right one is among the first k."""
    figure = _figure()
    axes = _axes(figure, title="Recall", x="k", y="right among the first k, %")
    for number, (name, found) in enumerate(ranks.items()):
        shares = [100 * sum(0 < rank <= k for rank in found) / max(1, len(found)) for k in range(1, deepest + 1)]
        colour, (_, line) = _look(number)
        axes.plot(range(1, deepest + 1), shares, color=colour, linestyle=line, label=name)
    axes.set_ylim(0, 100)
    axes.legend(fontsize=7, frameon=False, loc="lower right")
    return _save(figure, path)


def calibration_curve(bands: Sequence[Band], path: Path) -> Path:
    """Confidence said against accuracy found; dots grow with the number of answers."""
    figure = _figure(4.6, 4.6)
    axes = _axes(figure, title="Calibration", x="confidence said", y="share right")
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
    said, right = [band.mean_confidence for band in bands], [band.right for band in bands]
    most = max((band.answers for band in bands), default=1)
    axes.plot(said, right, color=COLOURS[0], linewidth=1)
    axes.scatter(said, right, s=[20 + 160 * band.answers / most for band in bands], color=COLOURS[0], alpha=0.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    return _save(figure, path)


def cost_curves(points: Sequence[CostPoint], path: Path) -> Path:
    """Encode time, index size, latency and exact match against the number of passages."""
    figure = _figure(8.4, 6.2)
    sizes = [point.passages for point in points]
    panels = (
        ("Encoding", "minutes", [[point.encode_seconds / 60 for point in points]]),
        ("Index", "megabytes", [[point.index_bytes / 1e6 for point in points]]),
        (
            "Latency (p50, p95)",
            "ms a question",
            [[1000 * p.seconds_p50 for p in points], [1000 * p.seconds_p95 for p in points]],
        ),
        ("Accuracy", "exact match, %", [[point.exact_match for point in points]]),
    )
    for number, (title, unit, lines) in enumerate(panels, 1):
        axes = _axes(figure, 2, 2, number, title=title, x="passages", y=unit)
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        for colour, line in zip(COLOURS, lines, strict=False):
            axes.plot(sizes, line, marker="o", markersize=4, color=colour)
        if title == "Accuracy":
            low, high = ([point.interval[side] for point in points] for side in (0, 1))
            axes.fill_between(sizes, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
        axes.set_ylim(bottom=0)
    return _save(figure, path)
