"""The exact score of every legal phrase of some passages, from their blocks alone.

    score(i, j) = s_i·q_s + e_j·q_e + a_i·b_j + p·q_p + sparse_start(i) + sparse_end(j) + lex

The blocks are laid end to end and scored at once, in float64, by sums that come out the same in any order (`grid`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, Ints, SideBatch, batch_of, numbered
from ..records import PART_KINDS, EncodedQuestion, PhraseBlock, ScorePart
from .grid import Floats, exact_products, on_grid
from .legal_spans import LegalSpans, Pairs
from .lexical import LexWeight
from .question_grams import sparse_scores


class ScoredSpan(NamedTuple):
    """A scored span: its block, first and last token, what it scores, and where the parts of that are."""

    block: int
    start: int
    end: int
    score: float
    source: ScoredSpans
    number: int

    @property
    def parts(self) -> tuple[ScorePart, ...]:
        """The seven summands of its score."""
        return self.source.parts(self.number)


@dataclass(frozen=True, slots=True)
class ScoredSpans:
    """Legal spans of the scored blocks, and what their scores are made of."""

    block: Ints  # (spans,) which of the blocks
    start: Ints  # (spans,) first token
    end: Ints  # (spans,) last token
    score: Floats  # (spans,)
    _values: Callable[[int], tuple[float, ...]]
    """The parts of one, in the order of PART_KINDS. Few are ever looked at."""

    def __len__(self) -> int:
        return len(self.score)

    def parts(self, number: int) -> tuple[ScorePart, ...]:
        """The seven summands of one span's score, in the order of `PART_KINDS`."""
        return tuple(map(ScorePart, PART_KINDS, self._values(number)))

    def after(self, first: int) -> Iterator[ScoredSpan]:
        """All but the first so many, in their order."""
        columns = [column[first:].tolist() for column in (self.block, self.start, self.end, self.score)]
        return map(ScoredSpan, *columns, repeat(self), count(first))

    def span(self, number: int) -> ScoredSpan:
        """The span with this number."""
        where = (int(self.block[number]), int(self.start[number]), int(self.end[number]))
        return ScoredSpan(*where, float(self.score[number]), self, number)


class PhraseScores:
    """What each kept start and end of a batch scores; spans are put together only where they are asked for."""

    def __init__(self, question: EncodedQuestion, lex: Sequence[LexWeight], batch: BlockBatch) -> None:
        self._batch = batch
        self._legal = LegalSpans(batch, question.longest_answer)
        self._dense = (_dense(batch.start, question.start_vector), _dense(batch.end, question.end_vector))
        self._sparse = sparse_scores(question, batch)
        self._passage = exact_products((batch.passage_vectors,), question.passage_vector) * batch.passage_scales
        self._lex = lex_scores(batch, lex)
        self._sums = (self._dense[0] + self._sparse[0], self._dense[1] + self._sparse[1])

    def spans(self, start_rows: Ints | None = None) -> ScoredSpans:
        """The legal spans that begin at these starts (ascending), or all."""
        return self.of_pairs(self._legal.pairs(self._legal.starts() if start_rows is None else start_rows))

    def of_pairs(self, pairs: Pairs) -> ScoredSpans:
        """These spans, legal or not."""
        block, left, right = pairs.block, pairs.start_row, pairs.end_row
        span = span_scores(self._batch, left, right)
        score = self._sums[0][left] + self._sums[1][right]
        score += span
        score += (self._passage + self._lex)[block]

        def values(number: int) -> tuple[float, ...]:
            start, end, own = left[number], right[number], block[number]
            dense, sparse = self._dense, self._sparse
            parts = (dense[0][start], dense[1][end], span[number], self._passage[own])
            return tuple(map(float, (*parts, sparse[0][start], sparse[1][end], self._lex[own])))

        return ScoredSpans(block, pairs.start, pairs.end, score, values)

    def bounds(self) -> Floats:
        """For each kept start, what no span that begins there scores more than; minus infinity if there is none."""
        ends, starts = self._batch.end, self._batch.start
        longest = _lengths(ends).max(initial=0.0)
        bound: Floats = self._legal.best_in_reach(self._sums[1]) + self._sums[0] + _lengths(starts) * longest
        bound += (self._passage + self._lex)[self._legal.start_block]
        return bound


def score_spans(question: EncodedQuestion, lex: Sequence[LexWeight], blocks: Sequence[PhraseBlock]) -> ScoredSpans:
    """Score every legal span of `blocks`. The lexical weights come with their factor already in them."""
    if not blocks:
        ints, floats = np.zeros(0, np.int64), np.zeros(0)
        return ScoredSpans(ints, ints, ints, floats, lambda number: ())
    return PhraseScores(question, lex, batch_of(blocks)).spans()


def _dense(side: SideBatch, vector: NDArray[np.float32]) -> Floats:
    return exact_products(side.vectors, vector, side.largest) * side.vector_scales.astype(np.float64)


def span_scores(batch: BlockBatch, left: Ints, right: Ints) -> Floats:
    """The coherency part of these pairs of a start row and an end row."""
    starts, ends = batch.start, batch.end
    # Sums of 2^10 products of int8 values are whole numbers below 2^24: single floats hold them exactly.
    a, b = starts.spans[left].astype(np.float32), ends.spans[right].astype(np.float32)
    scales = starts.span_scales[left].astype(np.float64) * ends.span_scales[right].astype(np.float64)
    products: Floats = np.einsum("ij,ij->i", a, b).astype(np.float64) * scales
    return products


def _lengths(side: SideBatch) -> Floats:
    """The length of each span vector."""
    single = side.spans.astype(np.float32)
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", single, single).astype(np.float64)) * side.span_scales
    return lengths


def term_weights(lex: Sequence[LexWeight]) -> dict[int, float]:
    """What each lexical term counts with."""
    weights: dict[int, float] = {}
    for term, weight in zip(lex, on_grid([term.weight for term in lex]), strict=True):
        weights[term.id] = weights.get(term.id, 0.0) + weight
    return weights


def lex_scores(batch: BlockBatch, lex: Sequence[LexWeight]) -> Floats:
    """The lexical part of each block."""
    weights = term_weights(lex)
    known = sorted(weights)
    number = numbered(batch.lex_ids, known)
    found = (number >= 0).nonzero()[0]
    block = batch.lex_counts.cumsum().searchsorted(found, "right")
    products = np.array([weights[id] for id in known])[number[found]] * batch.lex_impacts[found]
    return np.bincount(block, products, minlength=len(batch)).astype(np.float64, copy=False)
