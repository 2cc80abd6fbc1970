"""From encoded questions to answers: both retrievers propose, the scorer decides, every stage is timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from ..engine import Engine, View
from ..errors import Incomplete
from ..records import EncodedQuestion, Reading, Reply, Strategy, Unit
from ..settings import Settings
from ..stored import Hits, Proposals, Statistics
from . import dense_first, lexical, sparse_first
from .candidates import Candidates, FoundAnswer, proposals
from .clock import Clock
from .confidence import Calibration, shared_words
from .dense_first import Vectors
from .lexical import LexWeight
from .ranking import ranked
from .units import PLACES, choose

if TYPE_CHECKING:  # who does not read again does not load it
    from .rereading import Rereader

AT_ONCE = 8
"""Answers that are looked for at first, and fetched together."""

UNITS_AT_ONCE = 64
"""The same where an answer is more than a phrase: many phrases stand in one passage."""

_Lex = tuple[LexWeight, ...]
_DEFAULTS = Settings()
_STRATEGY = cast(Strategy, _DEFAULTS.strategy)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search."""

    k: int = _DEFAULTS.top_k
    strategy: Strategy = _STRATEGY
    sparse_candidates: int = _DEFAULTS.sparse_candidates
    dense_candidates: int = _DEFAULTS.dense_candidates
    lex_weight: float = _DEFAULTS.lex_weight
    first_stage_lex_weight: float = _DEFAULTS.first_stage_lex_weight
    where: Mapping[str, str] = field(default_factory=dict)
    explain: bool = False
    unit: Unit = "phrase"
    merge: bool = False
    """Whether answers that say the same are one, which names all its places."""
    refuse_partial: bool = False
    """Whether an answer from a part of the index is an error."""
    read: int = 0
    """Passages that a reader reads again,"""
    read_below: float = math.inf
    """if the fast answer's confidence is below this (or unknown)."""


class Coordinator:
    """Answers questions from an index. Holds nothing that changes, so threads may share it."""

    def __init__(
        self,
        engine: Engine,
        beside: Vectors | None = None,
        calibration: Calibration | None = None,
        rereader: Callable[[], Rereader] | None = None,
    ) -> None:
        self._engine = engine
        self._beside = beside
        self._calibration = calibration
        self._rereader = rereader

    def answer(self, questions: Sequence[EncodedQuestion], options: SearchOptions) -> list[Reply]:
        """Answer questions, all from one state of the index; both retrievers search for all of them together."""
        if not questions:
            return []
        with self._engine.view() as view:
            clock = Clock()
            with clock.stage("sparse"):
                statistics = lexical.look_up_many(questions, view)
                lex = [lexical.lex_weights(question, statistics) for question in questions]
                sparse = _sparse(view, questions, lex, options)
            with clock.stage("dense"):
                dense = self._propose_dense(view, questions, options)
            shares = {stage: seconds / len(questions) for stage, seconds in clock.seconds.items()}
            proposed = zip(questions, lex, sparse, dense, strict=True)
            return [self._answer(view, *own, statistics, shares, options) for own in proposed]

    def propose(self, question: EncodedQuestion, options: SearchOptions) -> Proposals:
        """The passages that each retriever proposes for a question."""
        with self._engine.view() as view:
            lex = lexical.lex_weights(question, lexical.look_up(question, view))
            (sparse,), (dense,) = (
                _sparse(view, [question], [lex], options),
                self._propose_dense(view, [question], options),
            )
        return Proposals(sparse, dense)

    def _propose_dense(self, view: View, questions: Sequence[EncodedQuestion], options: SearchOptions) -> list[Hits]:
        if options.strategy == "sparse":
            return [Hits() for _ in questions]
        return dense_first.propose(view, self._beside, questions, options.dense_candidates, options.where)

    def _answer(
        self,
        view: View,
        question: EncodedQuestion,
        lex: _Lex,
        sparse: Hits,
        dense: Hits,
        statistics: Statistics,
        shares: Mapping[str, float],
        options: SearchOptions,
    ) -> Reply:
        clock = Clock()
        candidates = Candidates(view, proposals(sparse.hits, dense.hits), clock)
        with clock.stage("score"):
            weighed = lexical.scaled(lex, options.lex_weight)
            found = _ranked(question, weighed, candidates, options)
            calibrated = self._calibration is not None
            shown, rival = choose(
                found, options.k, options.unit, merge=options.merge, rival=calibrated, copies=candidates.are_copies
            )
            sure = self._confidence(shown, rival, weighed)
        reading = None
        if options.read and shown and (sure is None or sure < options.read_below):
            with clock.stage("read"):
                shown, sure, reading = self._read(question, weighed, candidates, shown, sure, options)
        with clock.stage("score"):
            answers = [found.answer for found in shown]
            if options.explain:
                answers = candidates.explained(shown, question, weighed)
            answers = [replace(answers[0], confidence=sure), *answers[1:]] if answers else []
        degraded = tuple(dict.fromkeys(sparse.missing + dense.missing + candidates.missing))
        if degraded and options.refuse_partial:
            raise Incomplete(f"answers would be missing: {degraded[0]}", "try again later, or set `partial` to `flag`")
        seconds = {**shares, **clock.seconds}
        return Reply(
            question.text,
            tuple(answers),
            options.strategy,
            statistics.snapshot,
            len(candidates.ids),
            seconds,
            degraded,
            reading,
        )

    def _read(
        self,
        question: EncodedQuestion,
        lex: _Lex,
        candidates: Candidates,
        shown: list[FoundAnswer],
        sure: float | None,
        options: SearchOptions,
    ) -> tuple[list[FoundAnswer], float | None, Reading | None]:
        """The answers after reading again, the confidence of the first, and what was before."""
        assert self._rereader is not None
        rereader = self._rereader()
        again = rereader.read(question, lex, candidates, options.read, options.k)
        if not again.found:
            return shown, sure, None
        fast = shown[0].answer
        before = fast.scored.text, fast.passage.id, fast.score, sure
        reading = Reading(again.passages, rereader.fit.weight, *before, again.answered)
        found, copies = iter(again.found), candidates.are_copies
        chosen = choose(found, options.k, options.unit, merge=options.merge, rival=False, copies=copies)
        return chosen.shown, again.confidence, reading

    def _confidence(self, shown: Sequence[FoundAnswer], rival: float | None, lex: _Lex) -> float | None:
        if not shown or self._calibration is None:
            return None
        best = shown[0].answer
        return self._calibration.confidence(best.score, rival, shared_words(best.parts, lex))


def _sparse(
    view: View, questions: Sequence[EncodedQuestion], lex: Sequence[_Lex], options: SearchOptions
) -> list[Hits]:
    if options.strategy == "dense":
        return [Hits() for _ in questions]
    factor, k = options.first_stage_lex_weight, options.sparse_candidates
    return sparse_first.propose(view, questions, lex, factor, k, options.where)


def _ranked(
    question: EncodedQuestion, lex: _Lex, candidates: Candidates, options: SearchOptions
) -> Iterator[FoundAnswer]:
    if candidates.blocks is None:
        return iter(())
    usual = UNITS_AT_ONCE if options.unit != "phrase" else PLACES if options.merge else AT_ONCE
    at_once = max(options.k, usual)
    return candidates.answers(ranked(question, lex, candidates.blocks, at_once), at_once)
