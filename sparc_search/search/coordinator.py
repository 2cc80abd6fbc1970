"""From encoded questions to answers: both retrievers propose, the scorer decides, every stage is timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import cast

from ..engine import Engine, View
from ..errors import Incomplete
from ..records import Answer, EncodedQuestion, Reply, Strategy
from ..settings import Settings
from ..stored import Hits, Statistics
from . import confidence, dense_first, lexical, sparse_first
from .candidates import Candidates, FoundAnswer, proposals
from .clock import Clock
from .confidence import Calibration
from .dense_first import Vectors
from .lexical import LexWeight
from .ranking import ranked

AT_ONCE = 8
"""Answers that are looked for at first, and fetched together."""

_RIVALS = 50
"""Answers looked at for one that says something else than the best."""

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
    refuse_partial: bool = False
    """Whether an answer from a part of the index is an error."""


class Coordinator:
    """Answers questions from an index. Holds nothing that changes, so threads may share it."""

    def __init__(self, engine: Engine, beside: Vectors | None = None, calibration: Calibration | None = None) -> None:
        self._engine = engine
        self._beside = beside
        self._calibration = calibration

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
            shown, rival = self._choose(_ranked(question, weighed, candidates, options), options.k)
            answers = [found.answer for found in shown]
            if options.explain:
                answers = candidates.explained(shown, question, weighed)
            answers = self._with_confidence(answers, rival)
        degraded = tuple(dict.fromkeys(sparse.missing + dense.missing + candidates.missing))
        if degraded and options.refuse_partial:
            raise Incomplete(f"answers would be missing: {degraded[0]}", "try again later, or set `partial` to `flag`")
        seconds = {**shares, **clock.seconds}
        return Reply(
            question.text, tuple(answers), options.strategy, statistics.snapshot, len(candidates.ids), seconds, degraded
        )

    def _choose(self, found: Iterator[FoundAnswer], k: int) -> tuple[list[FoundAnswer], float | None]:
        """The first k, and, if someone wants to know, the score of the best that says something else than the first."""
        shown = list(islice(found, k))
        if self._calibration is None or not shown:
            return shown, None
        others = islice(found, max(_RIVALS - k, 0))
        return shown, confidence.rival_score((one.answer.text, one.answer.score) for one in chain(shown, others))

    def _with_confidence(self, answers: list[Answer], rival: float | None) -> list[Answer]:
        if not answers or self._calibration is None:
            return answers
        best, *others = answers
        return [replace(best, confidence=self._calibration.confidence(best.score, rival)), *others]


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
    at_once = max(options.k, AT_ONCE)
    return candidates.answers(ranked(question, lex, candidates.blocks, at_once), at_once)
