"""The passages that were proposed: their blocks at once, the passages themselves only where an answer is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from ..block_batch import Blocks
from ..engine import View, supports
from ..records import Answer, EncodedQuestion, Passage, Retriever
from ..stored import Hit
from .clock import Clock
from .explain import explain
from .lexical import LexWeight
from .scorer import ScoredSpan


class FoundAnswer(NamedTuple):
    """An answer, and the span it is."""

    answer: Answer
    span: ScoredSpan


def proposals(sparse: Sequence[Hit], dense: Sequence[Hit]) -> dict[str, tuple[Retriever, ...]]:
    """The union of the candidates, each with the retrievers that proposed it."""
    retrievers: dict[str, tuple[Retriever, ...]] = {hit.passage_id: ("sparse",) for hit in sparse}
    for hit in dense:
        retrievers[hit.passage_id] = (*retrievers.get(hit.passage_id, ()), "dense")
    return retrievers


class Candidates:
    """The proposed passages that are still there, by id, so that the order of their spans breaks ties."""

    def __init__(self, view: View, retrievers: Mapping[str, tuple[Retriever, ...]], clock: Clock) -> None:
        self._view, self._retrievers, self._clock = view, retrievers, clock
        self._passages: dict[str, Passage] = {}
        with clock.stage("fetch"):
            found = view.fetch_blocks(sorted(retrievers))
        self.ids, self.blocks, self.missing = found.passage_ids, found.blocks, found.missing

    def answers(self, spans: Iterator[ScoredSpan], at_once: int) -> Iterator[FoundAnswer]:
        """Spans as answers; their passages are fetched a few at a time, as far as they are read."""
        while some := list(islice(spans, at_once)):
            self._fetch(dict.fromkeys(self.ids[span.block] for span in some))
            for span in some:
                passage = self._passages.get(self.ids[span.block])
                if passage and self.blocks:  # an engine that does not hold still may have lost it
                    yield FoundAnswer(_answer(span, passage, self.blocks, self._retrievers[passage.id]), span)

    def are_copies(self, one: str, other: str) -> bool:
        """Whether two documents have the same text; no, if the engine cannot give it."""
        if not supports(self._view, View.documents):
            return False
        texts = [document.text for document in self._view.texts([one, other])]
        return len(texts) == 2 and texts[0] == texts[1]

    def explained(
        self, found: Sequence[FoundAnswer], question: EncodedQuestion, lex: Sequence[LexWeight]
    ) -> list[Answer]:
        """The answers with every n-gram and term a part of its own."""
        fetched = self._view.fetch([one.answer.passage.id for one in found])
        self.missing += fetched.missing
        stored = {one.passage.id: one.block for one in fetched.passages}
        return [
            replace(
                one.answer, parts=explain(one.answer.parts, question, lex, stored[id], one.span.start, one.span.end)
            )
            for one in found
            if (id := one.answer.passage.id) in stored
        ]

    def of_best(self, spans: Iterator[ScoredSpan], most: int) -> Candidates:
        """The passages of the best spans alone, at most so many."""
        best: dict[str, tuple[Retriever, ...]] = {}
        for span in spans:
            if len(best) == most:
                break
            id = self.ids[span.block]
            best[id] = self._retrievers[id]
        return Candidates(self._view, best, self._clock)

    def passages(self) -> list[Passage]:
        """All of them, in the order of `ids`; one that is gone by now is an empty text."""
        self._fetch(dict.fromkeys(self.ids))
        return [self._passages.get(id) or Passage(id, "", 0, "") for id in self.ids]

    def _fetch(self, ids: Mapping[str, None]) -> None:
        unknown = [id for id in ids if id not in self._passages]
        if unknown:
            with self._clock.stage("fetch"):
                found = self._view.fetch_passages(unknown)
            self._passages.update((passage.id, passage) for passage in found.passages)
            self.missing += found.missing


def _answer(span: ScoredSpan, passage: Passage, blocks: Blocks, retrievers: tuple[Retriever, ...]) -> Answer:
    offsets = blocks.offsets(span.block)
    start, end = int(offsets[span.start, 0]), int(offsets[span.end, 1])
    return Answer(passage.text[start:end], span.score, passage, start, end, retrievers, span.parts)
