"""What the tuning is worth: every question is asked by a model that has not learned from it, and by the one before."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..evaluation.calibration import Observation, bands_of, calibrate, calibration_error, observe_in, said_of
from ..evaluation.open_domain import CUTS, OpenRow, group_of, judge
from ..evaluation.questions import OpenQuestion
from ..evaluation.significance import MeasureDifference, compare
from ..index import Index
from ..search.confidence import Calibration

FEWEST = 100
"""With fewer questions a gain cannot be told from chance."""
AMONG = 5

Verdict = Literal["gain", "no gain", "too few"]


@dataclass(frozen=True, slots=True)
class Answered:
    """How one question was answered."""

    row: OpenRow
    seen: Observation | None


def ask_all(index: Index, questions: Sequence[OpenQuestion]) -> list[Answered]:
    """Ask an index, on the path that serves `ask`."""
    texts = [question.text for question in questions]
    replies = list(index.ask_many(texts, k=max(CUTS), unit="phrase", all=True))
    observed = observe_in(index, questions, replies)
    return [
        Answered(judge(question, reply), seen)
        for question, reply, seen in zip(questions, replies, observed, strict=True)
    ]


def folds_of(questions: Sequence[OpenQuestion], count: int, seed: int) -> list[list[int]]:
    """The questions in so many parts of like size; those on one paragraph stay together."""
    groups: dict[str, list[int]] = {}
    for row, question in enumerate(questions):
        groups.setdefault(group_of(question), []).append(row)
    drawn = list(groups.values())
    random.Random(seed).shuffle(drawn)
    folds: list[list[int]] = [[] for _ in range(count)]
    for group in drawn:
        min(folds, key=len).extend(group)
    return [sorted(fold) for fold in folds if fold]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Before and after, on the same questions, in percent."""

    questions: int
    first: MeasureDifference
    """The best answer is right (EM@1)."""
    among: MeasureDifference
    """A right answer is among the first five (EM@5)."""
    f1: MeasureDifference
    verdict: Verdict


def judged(before: Sequence[OpenRow], after: Sequence[OpenRow]) -> Judgement:
    """Compare them, question by question."""
    rows = [[asdict(row) for row in some] for some in (before, after)]
    compared = compare(*rows)
    among = compare(*([{**row, "exact_match": float(0 < row["rank"] <= AMONG)} for row in some] for some in rows))
    verdict = verdict_of(len(before), compared.exact_match)
    return Judgement(len(before), compared.exact_match, among.exact_match, compared.f1, verdict)


def verdict_of(questions: int, difference: MeasureDifference) -> Verdict:
    """A gain is one that chance does not explain: the whole interval lies above zero."""
    if questions < FEWEST:
        return "too few"
    return "gain" if difference.interval[0] > 0 else "no gain"


@dataclass(frozen=True, slots=True)
class Confidence:
    """The confidence fitted anew, and how far it is from the truth; that of the model before beside it."""

    calibration: Calibration
    error: float
    error_before: float | None
    observations: int

    def as_record(self) -> dict[str, Any]:
        """For a report."""
        return asdict(self)


def recalibrated(
    folds: Sequence[Sequence[Observation]], before: Sequence[Observation], calibration: Calibration | None
) -> Confidence | None:
    """Fit on the answers that no model had learned; its error is that of fits which left out the fold they judge."""
    everything = [seen for fold in folds for seen in fold]
    if len({seen.right for seen in everything}) < 2:
        return None  # nothing to tell apart
    said = [
        (said_of(calibrate(others), seen), seen.right)
        for number, fold in enumerate(folds)
        if (others := [seen for other, some in enumerate(folds) if other != number for seen in some])
        for seen in fold
    ]
    error = calibration_error(bands_of(said))
    said_before = [(said_of(calibration, one), one.right) for one in before] if calibration else []
    error_before = round(calibration_error(bands_of(said_before)), 4) if said_before else None
    return Confidence(calibrate(everything), round(error, 4), error_before, len(everything))
