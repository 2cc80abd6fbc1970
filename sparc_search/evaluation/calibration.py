"""Fit how sure an answer is: on questions whose answers are in an index, and on questions whose answers are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..index import Index
from ..records import Reply
from ..search import lexical
from ..search.confidence import Calibration, fit, rival_score, shared_words
from .questions import OpenQuestion

RIGHT = 0.6
"""An answer counts as right from this F1 on: its boundaries may be off by a word."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The best answer of one question: its score, its rival's, and whether it was right."""

    score: float
    rival: float | None
    right: bool
    there: bool = True
    """Whether an answer to it is in the index."""
    shared: float | None = None
    """How much of the question's words the passage has, if that is known."""


def observe(question: OpenQuestion, reply: Reply) -> Observation | None:
    """What a reply teaches; None if it has no answer."""
    if not reply.answers:
        return None
    rival = rival_score((answer.text, answer.score) for answer in reply.answers)
    there = bool(question.answers or question.pattern)
    return Observation(reply.answers[0].score, rival, question.f1(reply.answers[0].text) >= RIGHT, there)


def observe_in(
    index: Index, questions: Sequence[OpenQuestion], replies: Iterable[Reply]
) -> Iterator[Observation | None]:
    """The same for the replies of an index, with how much of the questions' words their passages have."""
    with index.engine.view() as view:
        for question, reply in zip(questions, replies, strict=True):
            found = observe(question, reply)
            if found is None:
                yield None
                continue
            encoded = index.encoded(question.text)
            weights = lexical.lex_weights(encoded, lexical.look_up(encoded, view))
            weighed = lexical.scaled(weights, index.settings.lex_weight)
            yield replace(found, shared=shared_words(reply.answers[0].parts, weighed))


def calibrate(seen: Sequence[Observation]) -> Calibration:
    """The calibration that fits best."""
    return fit(
        [answer.score for answer in seen],
        [answer.rival for answer in seen],
        [answer.right for answer in seen],
        [answer.shared for answer in seen],
    )


def said_of(calibration: Calibration, answer: Observation) -> float:
    """The confidence that a calibration gives an answer that was observed."""
    return calibration.confidence(answer.score, answer.rival, answer.shared)


@dataclass(frozen=True, slots=True)
class Band:
    """Answers whose confidence lies in a band, and how many of them were right."""

    low: float
    high: float
    answers: int
    mean_confidence: float
    right: float


def reliability(calibration: Calibration, seen: Iterable[Observation]) -> list[Band]:
    """The calibration curve of what was observed."""
    return bands_of((said_of(calibration, answer), answer.right) for answer in seen)


def bands_of(answers: Iterable[tuple[float, bool]], bands: int = 10) -> list[Band]:
    """In each band, confidence said and accuracy found, from pairs of (confidence, whether it was right)."""
    by_band: list[list[tuple[float, bool]]] = [[] for _ in range(bands)]
    for sure, right in answers:
        by_band[min(int(sure * bands), bands - 1)].append((sure, right))
    return [
        Band(
            number / bands,
            (number + 1) / bands,
            len(band),
            round(sum(sure for sure, _ in band) / len(band), 4),
            round(sum(right for _, right in band) / len(band), 4),
        )
        for number, band in enumerate(by_band)
        if band
    ]


def calibration_error(bands: Iterable[Band]) -> float:
    """Expected calibration error: how far confidence and accuracy are apart, weighed by the answers of each band."""
    listed = list(bands)
    total = sum(band.answers for band in listed)
    return sum(band.answers * abs(band.mean_confidence - band.right) for band in listed) / max(1, total)
