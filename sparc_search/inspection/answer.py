"""Why this answer and not another: its score taken apart, beside the runner-up's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import NotThere
from ..index import Index
from ..records import (
    PART_KINDS,
    Answer,
    Occurrence,
    PartKind,
    Reading,
    ReadLogits,
    Reply,
    Retriever,
    ScorePart,
    Span,
    Strategy,
    Unit,
)
from .plain import view_from
from .question import QuestionView, question_view
from .summaries import PassageFacts, facts


@dataclass(frozen=True, slots=True)
class OtherPlace:
    """Another place that says the same as an answer."""

    passage: PassageFacts
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer with its score by kind of part, and by n-gram and term."""

    rank: int
    text: str
    score: float
    confidence: float | None
    start: int
    end: int
    roads: tuple[Retriever, ...]
    passage: PassageFacts
    by_kind: Mapping[PartKind, float]
    """In the order of `PART_KINDS`; their sum is the score."""
    parts: tuple[ScorePart, ...]
    read_score: float | None
    """What a reader gives it, if it was read again; no part of the score."""
    read_logits: ReadLogits | None
    unit: Unit
    phrase: Span | None
    """The phrase that was scored, if the answer is a larger unit around it."""
    others: tuple[OtherPlace, ...]
    """Where else the same stands, best first."""

    @property
    def scored(self) -> Span:
        """The phrase that was scored: the answer itself, or the phrase in it."""
        return self.phrase or Span(self.text, self.start, self.end)

    @property
    def documents(self) -> int:
        """In how many documents it stands."""
        return len({self.passage.document_id, *(place.passage.document_id for place in self.others)})


@dataclass(frozen=True, slots=True)
class Difference:
    """What one part (with a `name`: one n-gram or term) gives to two answers."""

    kind: PartKind
    name: str
    mine: float
    other: float
    difference: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers part by part; the differences of either list sum to `difference`."""

    rank: int
    other: int
    difference: float
    by_kind: tuple[Difference, ...]
    by_name: tuple[Difference, ...]
    """N-grams and terms one by one, dense parts whole; the largest difference first."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """A reply, explained."""

    question: QuestionView
    strategy: Strategy
    candidates: int
    """Passages that were scored."""
    snapshot: int
    seconds: Mapping[str, float]
    degraded: tuple[str, ...]
    """Why answers may be missing: what a server could not search; empty if all was searched."""
    guess: bool
    """Whether the best answer is less sure than `min_confidence` asks for."""
    answers: tuple[ExplainedAnswer, ...]
    comparison: Comparison | None
    read: Reading | None = None


def answer_view(
    index: Index,
    question: str,
    *,
    rank: int = 1,
    against: int | None = None,
    k: int | None = None,
    strategy: Strategy | None = None,
    where: Mapping[str, str] | None = None,
    unit: Unit | None = None,
    all: bool = False,
    read: int | str | None = None,
) -> AnswerView:
    """Ask, and explain the answers; the one of `rank` is put beside the next one, or beside rank `against`."""
    other = rank + 1 if against is None else against
    asked = max(k or index.settings.top_k, rank, other)
    options = {"k": asked, "strategy": strategy, "where": where, "unit": unit, "all": all, "read": read}
    reply = index.ask(question, explain=True, **options)  # type: ignore[arg-type]
    answers = explained(reply)
    if reply.answers and not (1 <= rank <= len(answers) and (against is None or 1 <= other <= len(answers))):
        raise NotThere(f"there are {len(answers)} answers", "choose a rank among them")
    comparison = compared(answers[rank - 1], answers[other - 1]) if len(answers) >= max(rank, other) else None
    shown = question_view(index, question)
    return view_from(AnswerView, reply, question=shown, answers=answers, comparison=comparison)


def explained(reply: Reply) -> tuple[ExplainedAnswer, ...]:
    """The answers of a reply, each taken apart."""
    return tuple(_explained(rank, answer) for rank, answer in enumerate(reply.answers, start=1))


def _explained(rank: int, answer: Answer) -> ExplainedAnswer:
    by_kind = {kind: sum(part.value for part in answer.parts if part.kind == kind) for kind in PART_KINDS}
    others = tuple(_other(place) for place in answer.others)
    return view_from(ExplainedAnswer, answer, rank=rank, passage=facts(answer.passage), by_kind=by_kind, others=others)


def _other(place: Occurrence) -> OtherPlace:
    return view_from(OtherPlace, place, passage=facts(place.passage))


class Summed(Protocol):
    """Something with a score that is taken apart."""

    @property
    def by_kind(self) -> Mapping[PartKind, float]:
        """Its parts by kind."""

    @property
    def parts(self) -> tuple[ScorePart, ...]:
        """Its parts one by one."""


def compared(mine: ExplainedAnswer, other: ExplainedAnswer) -> Comparison:
    """Two answers of one question, part by part."""
    return Comparison(mine.rank, other.rank, mine.score - other.score, *differences(mine, other))


def differences(mine: Summed, other: Summed) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Two scores part by part, and n-gram by n-gram with the largest difference first."""
    kinds = [_difference(kind, "", mine.by_kind[kind], other.by_kind[kind]) for kind in PART_KINDS]
    left, right = _by_name(mine.parts), _by_name(other.parts)
    names = [_difference(*key, left.get(key, 0.0), right.get(key, 0.0)) for key in {**left, **right}]
    names.sort(key=lambda row: (-abs(row.difference), PART_KINDS.index(row.kind), row.name))
    return tuple(kinds), tuple(names)


def _by_name(parts: Sequence[ScorePart]) -> dict[tuple[PartKind, str], float]:
    return {(part.kind, part.name): part.value for part in parts}


def _difference(kind: PartKind, name: str, mine: float, other: float) -> Difference:
    return Difference(kind, name, mine, other, mine - other)
