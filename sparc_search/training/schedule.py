"""The learning rate over a run: warm up, stay, cool down.

Staying instead of decaying from the first step lets a run be continued: `--resume` with more steps moves the
cool-down to the new end, and everything learned before it was learned at the full rate.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """Shares of the peak rate by step."""

    total: int
    warm_up: int
    cool_down: int
    floor: float = 0.02

    def __call__(self, step: int) -> float:
        """Share of the peak rate for step number `step`, counted from 0."""
        rise = min(1.0, (step + 1) / max(1, self.warm_up))
        left = (self.total - step) / max(1, self.cool_down)
        return rise * max(self.floor, min(1.0, left))
