"""Where bars begin and end, in percent: the templates only draw, with attributes of SVG and no inline style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparc_search.records import PART_KINDS, PartKind

GROUPS: Mapping[PartKind, str] = {
    "dense start": "the start vector: does a phrase of the wanted kind start here?",
    "dense end": "the end vector: does it end here?",
    "span": "do this start and this end belong together?",
    "passage": "is the passage about the question?",
    "sparse start": "learned n-gram weights of the start (SPARC)",
    "sparse end": "learned n-gram weights of the end (SPARC)",
    "lex": "words of question and passage that are the same (BM25)",
}
"""What each part of a score says, for the legend."""


@dataclass(frozen=True, slots=True)
class BarSegment:
    """One piece of a bar."""

    kind: str
    value: float
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` (0 or less) to `high` on a line of 100 percent."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Where a value is."""
        return 100 * (value - self.low) / ((self.high - self.low) or 1.0)

    @property
    def zero(self) -> float:
        """Where zero is."""
        return self.at(0.0)


def stacked_scale(scores: Sequence[Mapping[PartKind, float]]) -> Scale:
    """One scale for the stacked bars of several scores, so that they can be compared by eye."""
    low = min((sum(min(value, 0.0) for value in score.values()) for score in scores), default=0.0)
    high = max((sum(max(value, 0.0) for value in score.values()) for score in scores), default=1.0)
    return Scale(low, high or 1.0)


def stacked(score: Mapping[PartKind, float], scale: Scale) -> tuple[BarSegment, ...]:
    """The parts of a score end to end: positive ones to the right of zero, negative ones to the left."""
    right = left = 0.0
    segments = []
    for kind in PART_KINDS:
        value = score[kind]
        begin, end = (right, right + value) if value >= 0 else (left + value, left)
        right, left = (end, left) if value >= 0 else (right, begin)
        segments.append(BarSegment(kind, value, scale.at(begin), scale.at(end) - scale.at(begin)))
    return tuple(segments)


def two_sided(values: Sequence[float]) -> tuple[BarSegment, ...]:
    """Differences as bars that leave the middle to the right (more) or to the left (less)."""
    most = max(map(abs, values), default=0.0) or 1.0
    return tuple(
        BarSegment("more" if value >= 0 else "less", value, 50 + min(value / most, 0.0) * 50, abs(value / most) * 50)
        for value in values
    )


@dataclass(frozen=True, slots=True)
class HistogramColumn:
    """One bin of a histogram."""

    x: float
    width: float
    height: float
    first: float
    last: float
    count: int


def columns(edges: Sequence[float], counts: Sequence[int]) -> tuple[HistogramColumn, ...]:
    """A histogram; a bin that holds anything at all can be seen."""
    most = max(counts, default=0) or 1
    width = 100 / (len(counts) or 1)
    return tuple(
        HistogramColumn(
            at * width, width, max(100 * count / most, 2.0 if count else 0.0), edges[at], edges[at + 1], count
        )
        for at, count in enumerate(counts)
    )
