"""The passages that were proposed: their blocks at once, the passages themselves only where an answer is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from ..block_batch import Blocks, batch_of
from ..interfaces import BatchFetch, Hit, Searchable
from ..records import Answer, EncodedQuestion, Passage, Road
from .clock import Clock
from .explain import explain
from .lexical import LexWeight
from .offers import offers
from .scorer import Span


class Found(NamedTuple):
    """An answer, and the span it is."""

    answer: Answer
    span: Span


def roads_of(sparse: Sequence[Hit], dense: Sequence[Hit]) -> dict[str, tuple[Road, ...]]:
    """The union of the candidates, each with the roads that proposed it."""
    roads: dict[str, tuple[Road, ...]] = {hit.passage_id: ("sparse",) for hit in sparse}
    for hit in dense:
        roads[hit.passage_id] = (*roads.get(hit.passage_id, ()), "dense")
    return roads


class Candidates:
    """The proposed passages that are still there, by id, so that the order of their spans breaks ties."""

    def __init__(self, store: Searchable, roads: Mapping[str, tuple[Road, ...]], clock: Clock) -> None:
        self._store, self._roads, self._clock = store, roads, clock
        self._passages: dict[str, Passage] = {}
        self.ids: list[str] = []
        self.blocks: Blocks | None = None
        with clock.stage("fetch"):
            wanted = sorted(roads)
            if offers(store, BatchFetch):
                self.ids, self.blocks = store.fetch_batch(wanted)
            elif stored := store.fetch(wanted):
                self._passages = {one.passage.id: one.passage for one in stored}
                self.ids, self.blocks = list(self._passages), batch_of([one.block for one in stored])

    def answers(self, spans: Iterator[Span], at_once: int) -> Iterator[Found]:
        """Spans as answers; their passages are fetched a few at a time, as far as they are read."""
        while some := list(islice(spans, at_once)):
            self._fetch(dict.fromkeys(self.ids[span.block] for span in some))
            for span in some:
                passage = self._passages.get(self.ids[span.block])
                if passage and self.blocks:  # a store that does not hold still may have lost it
                    yield Found(_answer(span, passage, self.blocks, self._roads[passage.id]), span)

    def explained(self, found: Sequence[Found], question: EncodedQuestion, lex: Sequence[LexWeight]) -> list[Answer]:
        """The answers with every n-gram and term a part of its own."""
        stored = {one.passage.id: one.block for one in self._store.fetch([one.answer.passage.id for one in found])}
        return [
            replace(
                one.answer, parts=explain(one.answer.parts, question, lex, stored[id], one.span.start, one.span.end)
            )
            for one in found
            if (id := one.answer.passage.id) in stored
        ]

    def _fetch(self, ids: Mapping[str, None]) -> None:
        missing = [id for id in ids if id not in self._passages]
        if missing and offers(self._store, BatchFetch):
            with self._clock.stage("fetch"):
                self._passages.update((one.id, one) for one in self._store.fetch_passages(missing))


def _answer(span: Span, passage: Passage, blocks: Blocks, roads: tuple[Road, ...]) -> Answer:
    offsets = blocks.offsets(span.block)
    start, end = int(offsets[span.start, 0]), int(offsets[span.end, 1])
    return Answer(passage.text[start:end], span.score, passage, start, end, roads, span.parts)
