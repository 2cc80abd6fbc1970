"""From encoded questions to answers: both roads propose, the scorer decides, every stage is timed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice

from ..interfaces import DenseStore, Hit, Pinning, Searchable, Statistics, Store, StoredPassage
from ..records import Answer, EncodedQuestion, Reply, Road, Strategy
from . import confidence, dense_first, explain, lexical, sparse_first
from .choice import without_overlaps
from .confidence import Calibration
from .lexical import LexWeight
from .scorer import ScoredSpans, score_spans

_RIVALS = 50
"""Answers looked at for one that says something else than the best."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. The defaults are those of the settings."""

    k: int = 5
    strategy: Strategy = "hybrid"
    sparse_candidates: int = 50
    dense_candidates: int = 50
    lex_weight: float = 0.3
    first_stage_lex_weight: float = 0.3
    where: Mapping[str, str] = field(default_factory=dict)
    explain: bool = False


class Coordinator:
    """Answers questions from a store. Holds nothing that changes, so threads may share it."""

    def __init__(self, store: Store, dense: DenseStore | None = None, calibration: Calibration | None = None) -> None:
        self._store = store
        self._dense = dense
        self._calibration = calibration

    def answer(self, questions: Sequence[EncodedQuestion], options: SearchOptions) -> list[Reply]:
        """Answer questions, all from one state of the index; the vectors are searched together."""
        if not questions:
            return []
        with self._view() as store:
            clock = Clock()
            dense: list[list[Hit]] = [[] for _ in questions]
            if options.strategy != "sparse":
                with clock.stage("dense"):
                    dense = dense_first.propose(store, self._dense, questions, options.dense_candidates, options.where)
            share = clock.seconds.get("dense", 0.0) / len(questions)
            return [self._answer(store, q, hits, share, options) for q, hits in zip(questions, dense, strict=True)]

    def _view(self) -> AbstractContextManager[Searchable]:
        return self._store.view() if isinstance(self._store, Pinning) else nullcontext(self._store)

    def _answer(
        self,
        store: Searchable,
        question: EncodedQuestion,
        dense: list[Hit],
        dense_seconds: float,
        options: SearchOptions,
    ) -> Reply:
        clock = Clock()
        with clock.stage("sparse"):
            statistics = lexical.look_up(question, store)
            lex = lexical.lex_weights(question, statistics)
            sparse = self._sparse(store, question, lex, options)
        clock.seconds["dense"] = dense_seconds
        roads = _roads(sparse, dense)
        with clock.stage("fetch"):
            passages = store.fetch(sorted(roads))  # by id, so that the order of the spans breaks ties
        with clock.stage("score"):
            weighed = tuple(replace(term, weight=term.weight * options.lex_weight) for term in lex)
            spans = score_spans(question, weighed, [passage.block for passage in passages])
            answers = self._choose(question, weighed, spans, passages, roads, options)
        return _reply(question, answers, statistics, len(passages), clock, options)

    def _sparse(
        self, store: Searchable, question: EncodedQuestion, lex: Sequence[LexWeight], options: SearchOptions
    ) -> list[Hit]:
        if options.strategy == "dense":
            return []
        factor, k = options.first_stage_lex_weight, options.sparse_candidates
        return sparse_first.propose(store, question, lex, factor, k, options.where)

    def _choose(
        self,
        question: EncodedQuestion,
        lex: Sequence[LexWeight],
        spans: ScoredSpans,
        passages: Sequence[StoredPassage],
        roads: Mapping[str, tuple[Road, ...]],
        options: SearchOptions,
    ) -> list[Answer]:
        looked_at = max(options.k, _RIVALS if self._calibration else 0)
        numbers = list(islice(without_overlaps(spans), looked_at))
        answers = [_make(spans, number, passages, roads) for number in numbers]
        rival = confidence.rival_score((answer.text, answer.score) for answer in answers)
        shown = answers[: options.k]
        if options.explain:
            blocks = [passages[spans.block[number]].block for number in numbers[: options.k]]
            where = [(int(spans.start[number]), int(spans.end[number])) for number in numbers[: options.k]]
            shown = [
                replace(answer, parts=explain.explain(answer.parts, question, lex, block, *tokens))
                for answer, block, tokens in zip(shown, blocks, where, strict=True)
            ]
        sure = confidence.of_best(self._calibration, shown, rival)
        return [replace(shown[0], confidence=sure), *shown[1:]] if shown else []


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time the block takes to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began


def _roads(sparse: Sequence[Hit], dense: Sequence[Hit]) -> dict[str, tuple[Road, ...]]:
    """The union of the candidates, each with the roads that proposed it."""
    roads: dict[str, tuple[Road, ...]] = {hit.passage_id: ("sparse",) for hit in sparse}
    for hit in dense:
        roads[hit.passage_id] = (*roads.get(hit.passage_id, ()), "dense")
    return roads


def _make(
    spans: ScoredSpans, number: int, passages: Sequence[StoredPassage], roads: Mapping[str, tuple[Road, ...]]
) -> Answer:
    passage, block = passages[spans.block[number]].passage, passages[spans.block[number]].block
    start, end = int(block.offsets[spans.start[number], 0]), int(block.offsets[spans.end[number], 1])
    return Answer(
        text=passage.text[start:end],
        score=float(spans.score[number]),
        passage=passage,
        start=start,
        end=end,
        roads=roads[passage.id],
        parts=spans.parts(number),
    )


def _reply(
    question: EncodedQuestion,
    answers: Sequence[Answer],
    statistics: Statistics,
    candidates: int,
    clock: Clock,
    options: SearchOptions,
) -> Reply:
    return Reply(question.text, tuple(answers), options.strategy, statistics.snapshot, candidates, dict(clock.seconds))
