"""The spans of some blocks that may be shown, best first: by the blocks themselves if they can, else with numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ..block_batch import Blocks
from ..phrase_query import BestSpans, PhraseQuery, ScoresSpans
from ..records import EncodedQuestion
from .choice import best_first, without_overlaps
from .lexical import LexWeight
from .question_grams import ngram_weights
from .scorer import PhraseScores, ScoredSpan, ScoredSpans, term_weights


def ranked(question: EncodedQuestion, lex: Sequence[LexWeight], blocks: Blocks, at_once: int) -> Iterator[ScoredSpan]:
    """The legal spans that share no token with a better one, best first; equals in the order of (block, start, end).

    So many are looked for at first, then eight times as many, and so on, as far as they are read.
    """
    if isinstance(blocks, ScoresSpans):
        return ranked_by_blocks(phrase_query(question, lex), blocks, at_once)
    return without_overlaps(best_first(PhraseScores(question, lex, blocks.laid_out())))


def ranked_by_blocks(query: PhraseQuery, blocks: ScoresSpans, at_once: int) -> Iterator[ScoredSpan]:
    """The same from blocks that score themselves; they look at all spans again if more are wanted."""
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


def phrase_query(question: EncodedQuestion, lex: Sequence[LexWeight]) -> PhraseQuery:
    """The question for blocks that score themselves."""
    ngrams = sorted(ngram_weights(question).items(), key=lambda ngram: (len(ngram[0]), ngram[0]))
    terms = sorted(term_weights(lex).items())
    start, end, passage = (
        np.ascontiguousarray(vector, np.float32)
        for vector in (question.start_vector, question.end_vector, question.passage_vector)
    )
    return PhraseQuery(
        vectors=(start, end, passage),
        sizes=np.array([len(ids) for ids, _ in ngrams], np.int64),
        ids=np.array(list(chain.from_iterable(ids for ids, _ in ngrams)), np.int64),
        weights=np.array([both for _, both in ngrams], np.float64),
        terms=np.array([id for id, _ in terms], np.int64),
        term_weights=np.array([weight for _, weight in terms], np.float64),
        longest_answer=question.longest_answer,
    )
