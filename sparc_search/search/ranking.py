"""All legal spans of some blocks, best first: by the blocks themselves if they can, else with numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..block_batch import Blocks
from ..phrase_query import BestSpans, PhraseQuery, ScoresSpans
from ..records import EncodedQuestion
from .choice import best_first
from .grid import VECTOR_BITS, whole_numbers
from .lexical import LexWeight
from .offers import offers
from .question_grams import NgramKeys, ngram_weights
from .scorer import MAX_TOKENS, PhraseScores, ScoredSpans, Span, term_weights

AT_ONCE = 128
"""Spans that are asked for first; then eight times as many, and so on."""


def ranked(question: EncodedQuestion, lex: Sequence[LexWeight], blocks: Blocks) -> Iterator[Span]:
    """All legal spans, best first; equals in the order of (block, start, end)."""
    if offers(blocks, ScoresSpans):
        return ranked_by_blocks(phrase_query(question, lex), blocks)
    return best_first(PhraseScores(question, lex, blocks.laid_out()))


def ranked_by_blocks(query: PhraseQuery, blocks: ScoresSpans, at_once: int = AT_ONCE) -> Iterator[Span]:
    """The same from blocks that score themselves; they look at all spans again if many are wanted."""
    shown, wanted = 0, at_once
    while True:
        spans = _scored(blocks.best_spans(query, wanted))
        yield from spans.after(shown)
        if len(spans) < wanted:
            return
        shown, wanted = len(spans), 8 * wanted


def _scored(best: BestSpans) -> ScoredSpans:
    def values(number: int) -> tuple[float, ...]:
        return tuple(best.parts[number, :-1].tolist())

    block, start, end = best.where.T
    return ScoredSpans(block, start, end, best.parts[:, -1], values)


def phrase_query(question: EncodedQuestion, lex: Sequence[LexWeight], max_tokens: int = MAX_TOKENS) -> PhraseQuery:
    """The question for blocks that score themselves."""
    start, end, passage = map(_whole, (question.start_vector, question.end_vector, question.passage_vector))
    weights = ngram_weights(question)
    keys = NgramKeys(weights)
    ngrams = sorted((len(ids), keys.key(ids), both) for ids, both in weights.items())
    terms = sorted(term_weights(lex).items())
    return PhraseQuery(
        vectors=(start[0], end[0], passage[0]),
        steps=(start[1], end[1], passage[1]),
        pieces=np.array(keys.pieces, np.int64),
        sizes=np.array([size for size, _, _ in ngrams], np.int64),
        keys=np.array([key for _, key, _ in ngrams], np.int64),
        weights=np.array([both for _, _, both in ngrams], np.float64),
        terms=np.array([id for id, _ in terms], np.int64),
        term_weights=np.array([weight for _, weight in terms], np.float64),
        max_tokens=max_tokens,
    )


def _whole(vector: NDArray[np.float32]) -> tuple[NDArray[np.int32], float]:
    whole, step = whole_numbers(vector, VECTOR_BITS)
    return whole.astype(np.int32), step
