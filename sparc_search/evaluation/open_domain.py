"""Open evaluation: the answer is sought in a whole index, on the path that serves `ask`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ..records import Answer, Reply
from .bootstrap import interval
from .holding import holds
from .questions import OpenQuestion

CUTS = (1, 5, 10, 20, 50)
"""Answers (and passages) among which the right one is looked for."""

Ask = Callable[[str], Reply]
"""Anything that answers a question: an index, or a baseline."""


@dataclass(frozen=True, slots=True)
class OpenRow:
    """What was found for one question. Ranks count from 1; 0 if none is right."""

    id: str
    question: str
    gold: tuple[str, ...]
    found: str
    passage_id: str
    source: str
    score: float
    confidence: float | None
    exact_match: float
    f1: float
    rank: int
    """The first right answer among the answers."""
    passage_rank: int
    """The first passage that holds a right answer, among the passages of the answers, each counted once."""
    seconds: float
    group: str = ""
    """Questions on one paragraph share it."""


@dataclass(frozen=True, slots=True)
class OpenReport:
    """Means over the questions, all but the seconds in percent. Intervals hold 95 % (bootstrap)."""

    questions: int
    exact_match: float
    f1: float
    answer_recall: dict[str, float]
    passage_recall: dict[str, float]
    mean_reciprocal_rank: float
    seconds_per_question: float
    seconds_p50: float
    seconds_p95: float
    intervals: dict[str, tuple[float, float]]


def ask_each(questions: Iterable[OpenQuestion], ask: Ask) -> Iterator[tuple[OpenQuestion, Reply]]:
    """One question after the other, as a user asks."""
    for question in questions:
        yield question, ask(question.text)


def distinct_passages(answers: Iterable[Answer]) -> list[Answer]:
    """The best answer of each passage, in order."""
    seen: dict[str, Answer] = {}
    for answer in answers:
        seen.setdefault(answer.passage.id, answer)
    return list(seen.values())


def judge(question: OpenQuestion, reply: Reply) -> OpenRow:
    """How a reply does on a question."""
    best = reply.best
    return OpenRow(
        id=question.id,
        question=question.text,
        gold=question.gold,
        found=best.text if best else "",
        passage_id=best.passage.id if best else "",
        source=best.passage.source if best else "",
        score=best.score if best else 0.0,
        confidence=reply.confidence,
        exact_match=question.exact_match(best.text) if best else 0.0,
        f1=question.f1(best.text) if best else 0.0,
        rank=_first(bool(question.exact_match(answer.text)) for answer in reply.answers),
        passage_rank=passage_rank(question, reply),
        seconds=sum(reply.seconds.values()),
        group=group_of(question),
    )


def passage_rank(question: OpenQuestion, reply: Reply) -> int:
    """The first passage of a reply that holds a right answer; 0 if none does."""
    return _first(holds(question, answer.passage.text) for answer in distinct_passages(reply.answers))


def group_of(question: OpenQuestion) -> str:
    """A name for the paragraph a question was asked on; the question's own id if that is not known."""
    return hashlib.sha256(question.context.encode()).hexdigest()[:12] if question.context else question.id


def _first(right: Iterable[bool]) -> int:
    return next((number for number, is_right in enumerate(right, 1) if is_right), 0)


def summarise(rows: Sequence[OpenRow], seconds: float, seed: int = 0) -> OpenReport:
    """Means; `seconds` is the wall time of the whole run."""
    count = max(1, len(rows))
    groups = [row.group or row.id for row in rows]
    em, overlap = [row.exact_match for row in rows], [row.f1 for row in rows]
    times = [row.seconds for row in rows] or [0.0]
    return OpenReport(
        questions=len(rows),
        exact_match=percent(sum(em), count),
        f1=percent(sum(overlap), count),
        answer_recall=recall([row.rank for row in rows]),
        passage_recall=recall([row.passage_rank for row in rows]),
        mean_reciprocal_rank=round(sum(1 / row.rank for row in rows if row.rank) / count, 4),
        seconds_per_question=round(seconds / count, 5),
        seconds_p50=round(median(times), 5),
        seconds_p95=round(float(np.quantile(times, 0.95)), 5),
        intervals={
            name: percent_interval(values, groups, seed) for name, values in (("exact_match", em), ("f1", overlap))
        },
    )


def recall(ranks: Sequence[int]) -> dict[str, float]:
    """Share of questions whose first right one stands at a cut or before it, in percent."""
    return {f"@{cut}": percent(sum(0 < rank <= cut for rank in ranks), max(1, len(ranks))) for cut in CUTS}


def percent(part: float, whole: float) -> float:
    """With two digits."""
    return round(100 * part / whole, 2)


def percent_interval(values: Sequence[float], groups: Sequence[str], seed: int = 0) -> tuple[float, float]:
    """The bootstrap interval of a mean, in percent."""
    low, high = interval(values, groups, seed=seed)
    return round(100 * low, 2), round(100 * high, 2)
