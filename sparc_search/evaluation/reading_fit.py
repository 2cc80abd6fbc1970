"""How a reader works best with a model: the weight of the exact score, when to read at all, and how sure it may be.

Measured on questions that neither was trained on, some with their answer in the index and some without. Each passage is
read once, whatever is tried afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cross_encoder.reading import CrossEncoder, PassageLogits
from ..index import Index
from ..records import Passage, Reply
from ..search.confidence import logistic
from ..search.rereading import ReadCalibration, ReadingFit, Rereader, facts_of
from .calibration import RIGHT, Band, bands_of
from .questions import OpenQuestion
from .watching import QUIET, Watcher

WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
THRESHOLDS = tuple(step / 20 for step in range(4, 20))
LOSS = 0.01
"""How much exact match `auto` may lose against reading always."""
_RIVALS = 50


class Remembering(CrossEncoder):
    """A reader that reads a passage once for each question, however often it is asked."""

    def __init__(self, reader: CrossEncoder) -> None:
        super().__init__(reader.card, reader.pieces, reader.network)
        self._known: dict[tuple[str, str], PassageLogits] = {}

    def logits(self, question: str, passages: Sequence[Passage]) -> Iterator[PassageLogits]:
        """As the reader it remembers for."""
        for passage in passages:
            key = question, passage.id
            if key not in self._known:
                [self._known[key]] = super().logits(question, [passage])
            yield self._known[key]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was found, and the figures behind it."""

    fit: ReadingFit
    questions: int
    """With an answer in the index."""
    absent: int
    exact_match_by_weight: dict[float, float]
    fast: float
    """Exact match without reading,"""
    always: float
    """with reading always,"""
    auto: float
    """and with `auto`,"""
    unread: float
    """which leaves this share of the questions unread."""
    auto_by_threshold: dict[float, tuple[float, float]]
    """The same two for every threshold that was tried."""
    bands: list[Band]


def fit_reading(
    index: Index, asked: Sequence[OpenQuestion], absent: Sequence[OpenQuestion], passages: int, watcher: Watcher = QUIET
) -> Fitted:
    """Fit the reader of an index (its setting `read_with`) to its model."""
    reader = Remembering(index.rereader.reader)
    fit = ReadingFit(index.encoder.fingerprint, passages=passages)
    everything = [*asked, *absent]
    fast = list(index.ask_many((question.text for question in everything), k=1, read="never"))
    right: dict[float, float] = {}
    replies: dict[float, list[Reply]] = {}
    with watcher.counting("reading", len(WEIGHTS) * len(everything)) as tell:
        for weight in WEIGHTS:
            index.rereader = Rereader(reader, replace(fit, weight=weight))
            replies[weight] = []
            for question in everything:
                replies[weight].append(index.ask(question.text, k=_RIVALS, unit="phrase", all=True, read=passages))
                tell()
            right[weight] = _exact(asked, replies[weight])
    weight = min(right, key=lambda tried: (-right[tried], tried))
    by_threshold = {below: _auto_with(asked, fast, replies[weight], below) for below in THRESHOLDS}
    enough = [below for below, (exact, _) in by_threshold.items() if exact >= right[weight] - LOSS]
    fit = replace(fit, weight=weight, below=min(enough, default=1.0))
    calibration, bands = _calibrated(everything, replies[weight], weight, len(asked))
    auto, unread = _auto_with(asked, fast, replies[weight], fit.below)
    return Fitted(
        fit=replace(fit, calibration=calibration),
        questions=len(asked),
        absent=len(absent),
        exact_match_by_weight=right,
        fast=_exact(asked, fast),
        always=right[weight],
        auto=auto,
        unread=unread,
        auto_by_threshold=by_threshold,
        bands=bands,
    )


def _exact(asked: Sequence[OpenQuestion], replies: Sequence[Reply]) -> float:
    pairs = zip(asked, replies, strict=False)  # questions without an answer stand behind the others
    right = sum(question.exact_match(reply.best.text) for question, reply in pairs if reply.best)
    return round(right / max(1, len(asked)), 4)


def _auto_with(
    asked: Sequence[OpenQuestion], fast: Sequence[Reply], read: Sequence[Reply], below: float
) -> tuple[float, float]:
    """Exact match of `auto` with a threshold, and the share of the questions that it does not read."""
    pairs = list(zip(fast, read, strict=True))[: len(asked)]
    chosen = [slow if (quick.confidence or 0.0) < below else quick for quick, slow in pairs]
    unread = sum(reply.read is None for reply in chosen)
    return _exact(asked, chosen), round(unread / max(1, len(asked)), 4)


def _calibrated(
    everything: Sequence[OpenQuestion], replies: Sequence[Reply], weight: float, answerable: int
) -> tuple[ReadCalibration, list[Band]]:
    rows = [
        (facts_of(reply.answers, weight), number < answerable and question.f1(reply.answers[0].text) >= RIGHT)
        for number, (question, reply) in enumerate(zip(everything, replies, strict=True))
        if reply.read
    ]
    leads = np.array([lead for (_, lead, _), _ in rows])
    finite = leads[np.isfinite(leads)]
    widest = float(np.quantile(finite, 0.99)) if len(finite) else 0.0
    x = np.array([(1.0, margin, min(lead, widest), score) for (margin, lead, score), _ in rows])
    y = np.array([right for _, right in rows], np.float64)
    bias, margin, lead, score = logistic(x, y) if len(rows) else (0.0, 0.0, 0.0, 0.0)
    calibration = ReadCalibration(bias, margin, lead, score, widest)
    return calibration, bands_of((calibration.confidence(*facts), right) for facts, right in rows)
