"""What a run leaves beside the model: `training.json` and the loss curve as `training.png`."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..squad import SquadFile

PARTS = ("full", "dense", "passage", "bound", "filter", "teacher", "traps")


def versions() -> dict[str, str]:
    """Versions of what decides the numbers."""
    found = {"python": platform.python_version()}
    for name in ("sparc-search", "torch", "transformers", "tokenizers", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def data_record(files: Sequence[SquadFile]) -> list[dict[str, Any]]:
    """Names (not paths), weights and hashes of the data."""
    return [{"file": file.path.name, "weight": file.weight, "sha256": file.sha256} for file in files]


def write_report(folder: Path, record: dict[str, Any], history: Sequence[dict[str, Any]]) -> None:
    """Write `training.json` (every 10th step of the curve, every measurement) and, with matplotlib, `training.png`."""
    curve = [row for number, row in enumerate(history) if number % 10 == 0 or "held_out" in row]
    (folder / "training.json").write_text(json.dumps({**record, "curve": curve}, indent=1) + "\n", "utf-8")
    if history:
        draw(folder / "training.png", history)


def draw(target: Path, history: Sequence[dict[str, Any]]) -> bool:
    """The loss curve and the held-out measures; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for part in PARTS:
        if any(row.get(part) for row in history):
            values = smoothed([row.get(part, 0.0) for row in history])
            left.plot([row["step"] for row in history], values, label=part, linewidth=1)
    left.set(xlabel="step", ylabel="loss (running mean)", yscale="log")
    left.legend()
    measured = [row for row in history if "held_out" in row]
    for name in ("em", "f1", "em_dense_only", "passage_first_vector", "passage_first_bound"):
        points = [(row["step"], row["held_out"][name]) for row in measured if name in row["held_out"]]
        right.plot(*zip(*points, strict=True), label=name.replace("_", " "), marker=".") if points else None
    right.set(xlabel="step", ylabel="share of held-out questions", ylim=(0, 1))
    right.legend() if measured else None
    figure.savefig(target, dpi=110)
    return True


def smoothed(values: Sequence[float], keep: float = 0.97) -> list[float]:
    """Exponential running mean."""
    mean, means = values[0], []
    for value in values:
        mean = keep * mean + (1 - keep) * value
        means.append(mean)
    return means
