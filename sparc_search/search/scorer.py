"""The exact score of every legal phrase of some passages, from their blocks alone.

    score(i, j) = s_i·q_s + e_j·q_e + a_i·b_j + p·q_p + sparse_start(i) + sparse_end(j) + lex

The blocks are laid end to end and scored at once. Question weights are first rounded to a grid so fine that nothing
visible is lost, and so coarse that every sum of (grid value x stored integer) fits a float64 exactly. Such sums come
out the same in any order: the scores do not depend on the BLAS, on threads, or on which passages are scored together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..records import (
    AFTER_JOINT,
    CONTINUES,
    PART_KINDS,
    PUNCTUATION,
    EncodedQuestion,
    PhraseBlock,
    Phrases,
    ScorePart,
    SparseColumns,
    WeightedNgram,
)
from .lexical import LexWeight

MAX_TOKENS = 20
"""Most word pieces of an answer."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# 2^35 x 2^7 (int8) x 2^10 (dimensions) and 2^35 x 2^8 (uint8) x 2^9 (positions) stay below 2^53; impacts have 9 bits
# and spread over a few powers of two.
_GRID_BITS = 35


@dataclass(frozen=True, slots=True)
class ScoredSpans:
    """Every legal span of the scored blocks, ordered by (block, start, end), and what its score is made of."""

    block: Ints  # (spans,) which of the blocks
    start: Ints  # (spans,) first token
    end: Ints  # (spans,) last token
    score: Floats  # (spans,)
    _rows: tuple[Ints, Ints]  # (spans,) each: row of the start, row of the end
    _span: Floats  # (spans,)
    _dense: tuple[Floats, Floats]  # by row
    _sparse: tuple[Floats, Floats]  # by row
    _passage: Floats  # by block
    _lex: Floats  # by block

    def __len__(self) -> int:
        return len(self.score)

    def parts(self, number: int) -> tuple[ScorePart, ...]:
        """The seven summands of one span's score, in the order of `PART_KINDS`."""
        block, start, end = self.block[number], self._rows[0][number], self._rows[1][number]
        values = (
            self._dense[0][start],
            self._dense[1][end],
            self._span[number],
            self._passage[block],
            self._sparse[0][start],
            self._sparse[1][end],
            self._lex[block],
        )
        return tuple(ScorePart(kind, float(value)) for kind, value in zip(PART_KINDS, values, strict=True))


def score_spans(
    question: EncodedQuestion, lex: Sequence[LexWeight], blocks: Sequence[PhraseBlock], *, max_tokens: int = MAX_TOKENS
) -> ScoredSpans:
    """Score every legal span of `blocks`. The lexical weights come with their factor already in them."""
    if not blocks:
        return _nothing()
    lengths = np.array([len(block.token_ids) for block in blocks], np.int64)
    starts, ends = [block.start for block in blocks], [block.end for block in blocks]
    pairs = _legal_pairs(blocks, lengths, max_tokens)
    tokens = _Tokens(blocks, lengths, (*question.start_ngrams, *question.end_ngrams))
    dense = (_dense(starts, question.start_vector), _dense(ends, question.end_vector))
    sparse = (_sparse(starts, tokens, question.start_ngrams), _sparse(ends, tokens, question.end_ngrams))
    span = _span(starts, ends, pairs)
    passage, lexical = _passage(blocks, question.passage_vector), _lex(blocks, lex)
    score = (dense[0] + sparse[0])[pairs.start_row] + (dense[1] + sparse[1])[pairs.end_row]
    score += span
    score += (passage + lexical)[pairs.block]
    rows = (pairs.start_row, pairs.end_row)
    return ScoredSpans(pairs.block, pairs.start, pairs.end, score, rows, span, dense, sparse, passage, lexical)


def on_grid(weights: ArrayLike) -> Floats:
    """Weights rounded to multiples of one power of two, the largest of them to 35 bits."""
    exact = np.asarray(weights, np.float64)
    _, exponent = np.frexp(np.abs(exact).max(initial=0.0))
    step = np.ldexp(1.0, int(exponent) - _GRID_BITS)
    rounded: Floats = np.rint(exact / step) * step
    return rounded


# --- dense -----------------------------------------------------------------------------------------------------------


def _dense(sides: Sequence[Phrases], vector: NDArray[np.float32]) -> Floats:
    stored = np.concatenate([side.vectors for side in sides]).astype(np.float64)
    scales = np.concatenate([side.vector_scales for side in sides])
    return _products(stored, on_grid(vector)) * scales.astype(np.float64)


def _products(stored: Floats, vector: Floats) -> Floats:
    """Inner products without a BLAS: waking its threads takes longer than the sums do."""
    products: Floats = np.einsum("ij,j->i", stored, vector)
    return products


def _span(starts: Sequence[Phrases], ends: Sequence[Phrases], pairs: _Pairs) -> Floats:
    left = np.concatenate([side.spans for side in starts]).astype(np.int32)
    right = np.concatenate([side.spans for side in ends]).astype(np.int32)
    products: NDArray[np.int32] = np.einsum("ij,ij->i", left[pairs.start_row], right[pairs.end_row])
    left_scales = np.concatenate([side.span_scales for side in starts]).astype(np.float64)
    right_scales = np.concatenate([side.span_scales for side in ends]).astype(np.float64)
    scales = left_scales[pairs.start_row] * right_scales[pairs.end_row]
    return products.astype(np.float64) * scales


def _passage(blocks: Sequence[PhraseBlock], vector: NDArray[np.float32]) -> Floats:
    stored = np.stack([block.passage_vector for block in blocks]).astype(np.float64)
    return _products(stored, on_grid(vector)) * np.array([block.passage_scale for block in blocks], np.float64)


# --- sparse ----------------------------------------------------------------------------------------------------------


class _Tokens:
    """The tokens of all blocks, end to end, and at which of them the question's n-grams stand."""

    def __init__(self, blocks: Sequence[PhraseBlock], lengths: Ints, ngrams: Iterable[WeightedNgram]) -> None:
        self.block_ends = np.cumsum(lengths)
        pieces = sorted({piece for ngram in ngrams for piece in ngram.ids})
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        ids, known = np.concatenate([block.token_ids for block in blocks]), np.array([*pieces, -1], np.int64)
        places = np.searchsorted(known[:-1], ids)
        self._pieces = np.where(known[places] == ids, places, -1)  # (tokens,) which of the question's pieces, or none

    def places(self, n: int, weights: Mapping[tuple[int, ...], float]) -> tuple[Ints, Floats]:
        """Where one of these n-grams begins, and its weight."""
        found = np.flatnonzero(self._pieces >= 0)
        keys = self._pieces[found]
        for step in range(1, n):
            inside = found + step < self._ends_of(found)
            found, keys = found[inside], keys[inside]
            following = self._pieces[found + step]
            known = following >= 0
            found, keys = found[known], keys[known] * len(self._numbers) + following[known]
        table = {self._key(ids): weight for ids, weight in weights.items()}
        weight = np.array([table.get(key, 0.0) for key in keys.tolist()])
        return found[weight > 0], weight[weight > 0]

    def _ends_of(self, places: Ints) -> Ints:
        """Where the block of each place ends: no n-gram runs into the next one."""
        return self.block_ends[np.searchsorted(self.block_ends, places, "right")]

    def _key(self, ids: tuple[int, ...]) -> int:
        key = 0
        for piece in ids:
            key = key * len(self._numbers) + self._numbers[piece]
        return key


def _sparse(sides: Sequence[Phrases], tokens: _Tokens, ngrams: Sequence[WeightedNgram]) -> Floats:
    """By row: the question's weight of each n-gram times what it weighs for the phrase there."""
    kept = np.array([len(side.positions) for side in sides], np.int64)
    total = np.zeros(int(kept.sum()))
    grid = dict(zip((ngram.ids for ngram in ngrams), on_grid([ngram.weight for ngram in ngrams]).tolist(), strict=True))
    for which, columns in enumerate(sides[0].sparse):
        own = {ids: weight for ids, weight in grid.items() if len(ids) == columns.n and weight}
        if own:
            matrices = [side.sparse[which] for side in sides]
            sums = _column_sums(matrices, kept, tokens.block_ends, *tokens.places(columns.n, own))
            total += sums * np.repeat([matrix.scale for matrix in matrices], kept)
    return total


def _column_sums(
    matrices: Sequence[SparseColumns], kept: Ints, block_ends: Ints, found: Ints, weights: Floats
) -> Floats:
    """By row: the weighted sum over the touched columns. Everything but the scale, so every sum is exact."""
    block = np.searchsorted(block_ends, found, "right")
    pointers = np.concatenate([matrix.indptr for matrix in matrices])
    first_entry = _before(np.array([len(matrix.rows) for matrix in matrices], np.int64))[block]
    column = found + block  # each matrix has one pointer more than columns
    low = pointers[column] + first_entry
    count = pointers[column + 1] + first_entry - low
    entries = _ranges(low, count)
    rows = np.concatenate([matrix.rows for matrix in matrices])[entries] + np.repeat(_before(kept)[block], count)
    values = np.concatenate([matrix.values for matrix in matrices])[entries] * np.repeat(weights, count)
    return np.bincount(rows, values, minlength=int(kept.sum())).astype(np.float64, copy=False)


# --- lexical ---------------------------------------------------------------------------------------------------------


def _lex(blocks: Sequence[PhraseBlock], lex: Sequence[LexWeight]) -> Floats:
    if not lex:
        return np.zeros(len(blocks))
    ordered = sorted(lex, key=lambda term: term.id)
    known, weights = np.array([term.id for term in ordered]), on_grid([term.weight for term in ordered])
    ids = np.concatenate([block.lex_ids for block in blocks])
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    found = np.flatnonzero(known[places] == ids)
    impacts = np.concatenate([block.lex_impacts for block in blocks])[found].astype(np.float64)
    block = np.repeat(np.arange(len(blocks)), [len(block.lex_ids) for block in blocks])[found]
    return np.bincount(block, weights[places[found]] * impacts, minlength=len(blocks)).astype(np.float64, copy=False)


# --- which spans -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pairs:
    block: Ints
    start: Ints
    end: Ints
    start_row: Ints
    end_row: Ints


def _legal_pairs(blocks: Sequence[PhraseBlock], lengths: Ints, max_tokens: int) -> _Pairs:
    """Kept start, kept end at or after it, not too long, whole words, a word among them, across no joint."""
    first = _before(lengths)
    flags = np.concatenate([block.flags for block in blocks])
    start_block, start_at = _places([block.start.positions for block in blocks], first)
    end_block, end_at = _places([block.end.positions for block in blocks], first)
    following = np.append(flags[1:], np.uint8(0))
    following[np.cumsum(lengths[lengths > 0]) - 1] = 0
    start_row = np.flatnonzero((flags[start_at] & CONTINUES) == 0)
    end_row = np.flatnonzero((following[end_at] & CONTINUES) == 0)
    # Blocks are moved apart, so that no end of the next one is in reach.
    apart = np.arange(len(blocks)) * max_tokens
    starts = (start_at + apart[start_block])[start_row]
    ends = (end_at + apart[end_block])[end_row]
    low = np.searchsorted(ends, starts)
    count = np.searchsorted(ends, starts + max_tokens) - low
    start_row, end_row = np.repeat(start_row, count), end_row[_ranges(low, count)]
    left, right = start_at[start_row], end_at[end_row]
    joints = np.cumsum((flags & AFTER_JOINT) != 0)
    words = np.append(0, np.cumsum((flags & PUNCTUATION) == 0))
    legal = (joints[left] == joints[right]) & (words[right + 1] > words[left])
    start_row, end_row, left, right = start_row[legal], end_row[legal], left[legal], right[legal]
    block = start_block[start_row]
    return _Pairs(block, left - first[block], right - first[block], start_row, end_row)


def _places(positions: Sequence[NDArray[np.int32]], first: Ints) -> tuple[Ints, Ints]:
    """Of every kept position: its block, and where it stands in all tokens."""
    block = np.repeat(np.arange(len(positions)), [len(kept) for kept in positions])
    return block, np.concatenate(positions) + first[block]


def _before(counts: Ints) -> Ints:
    """How many come before each."""
    return np.cumsum(counts) - counts


def _ranges(low: NDArray[Any], count: NDArray[Any]) -> Ints:
    """`low[0], low[0] + 1, ...` (`count[0]` of them), then those of `low[1]`, and so on."""
    count = count.astype(np.int64)
    return np.arange(int(count.sum())) + np.repeat(low - _before(count), count)


def _nothing() -> ScoredSpans:
    ints, floats = np.zeros(0, np.int64), np.zeros(0)
    pair = (floats, floats)
    return ScoredSpans(ints, ints, ints, floats, (ints, ints), floats, pair, pair, floats, floats)
