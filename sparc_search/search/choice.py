"""Which of all spans are shown: the best, but never two that overlap.

Few of the spans of a hundred passages are ever looked at. So only those of the most promising starts are put together,
and one is shown when no span of any other start can be better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from .scorer import PhraseScores, ScoredSpan, ScoredSpans

AT_ONCE = 128
"""Starts whose spans are put together first; then eight times as many, and so on."""

_NOISE = 1e-9
"""Sums in another order differ by much less than this share."""


def best_first(scores: PhraseScores, at_once: int = AT_ONCE) -> Iterator[ScoredSpan]:
    """All legal spans, best first; equals in the order of (block, start, end)."""
    bounds = scores.bounds()
    shown, wanted = 0, at_once
    while True:
        others = _cut(bounds, wanted)
        spans = scores.spans(np.flatnonzero(bounds > others))
        safe = others + _NOISE * (1 + abs(others)) if np.isfinite(others) else others
        for number in _ranked(spans, safe)[shown:].tolist():
            yield spans.span(number)
            shown += 1
        if not np.isfinite(others):
            return
        wanted *= 8


def _cut(bounds: NDArray[np.float64], wanted: int) -> float:
    """A bound that at least so many are above; minus infinity if there are not more of them."""
    return float(np.partition(bounds, -wanted - 1)[-wanted - 1]) if wanted < len(bounds) else -np.inf


def _ranked(spans: ScoredSpans, above: float) -> NDArray[np.int64]:
    """The numbers of the spans that score more, best first; equals stay in their order."""
    found = np.flatnonzero(spans.score > above)
    order: NDArray[np.int64] = found[np.argsort(-spans.score[found], kind="stable")]
    return order


def without_overlaps(spans: Iterable[ScoredSpan]) -> Iterator[ScoredSpan]:
    """The spans in their order, without those that share a token with one before."""
    taken: dict[int, list[tuple[int, int]]] = {}
    for span in spans:
        others = taken.setdefault(span.block, [])
        if all(span.end < first or span.start > last for first, last in others):
            others.append((span.start, span.end))
            yield span
