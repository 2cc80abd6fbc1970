"""When to say "I don't know": what a least confidence costs, and what it spares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..search.confidence import Calibration
from .calibration import Observation, said_of

THRESHOLDS: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True, slots=True)
class Refusing:
    """Both errors of a least confidence, in shares of their questions."""

    threshold: float
    refused_right: float
    """Of the right answers, those that are called a guess."""
    shown_wrong: float
    """Of the wrong answers to questions whose answer is in the index, those that are shown as answers."""
    shown_absent: float
    """Of the answers to questions whose answer is not in the index, those that are shown as answers."""


def refusing(
    calibration: Calibration, seen: Sequence[Observation], thresholds: Iterable[float] = THRESHOLDS
) -> list[Refusing]:
    """What each of some thresholds does to the answers that were observed."""
    sure = [said_of(calibration, answer) for answer in seen]
    right = [value for value, answer in zip(sure, seen, strict=True) if answer.right]
    wrong = [value for value, answer in zip(sure, seen, strict=True) if not answer.right and answer.there]
    absent = [value for value, answer in zip(sure, seen, strict=True) if not answer.there]
    return [
        Refusing(threshold, 1 - _share(right, threshold), _share(wrong, threshold), _share(absent, threshold))
        for threshold in thresholds
    ]


def _share(confidences: Sequence[float], threshold: float) -> float:
    """How many are not below it; all, where there are none."""
    return round(sum(value >= threshold for value in confidences) / len(confidences), 4) if confidences else 1.0
