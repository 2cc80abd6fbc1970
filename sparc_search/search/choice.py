"""Which of all scored spans are shown: the best, but never two that overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .scorer import ScoredSpans


def ranked(spans: ScoredSpans) -> Iterator[int]:
    """The numbers of the spans, best first; equals stay in their order. Sorted only as far as it is read."""
    shown, wanted = 0, 64
    while shown < len(spans):
        for number in _top(spans, wanted)[shown:].tolist():
            yield number
            shown += 1
        wanted *= 16


def _top(spans: ScoredSpans, count: int) -> np.ndarray:
    """At least the first `count`; with them all that equal the last of them, so that ties are never cut apart."""
    score = spans.score
    if count < len(score):
        found = np.flatnonzero(score >= np.partition(score, -count)[-count])
    else:
        found = np.arange(len(score))
    return found[np.argsort(-score[found], kind="stable")]


def without_overlaps(spans: ScoredSpans) -> Iterator[int]:
    """The spans in rank order, without those that share a token with a better one."""
    taken: dict[int, list[tuple[int, int]]] = {}
    for number in ranked(spans):
        start, end = int(spans.start[number]), int(spans.end[number])
        others = taken.setdefault(int(spans.block[number]), [])
        if all(end < first or start > last for first, last in others):
            others.append((start, end))
            yield number
