"""Phrase blocks and questions drawn by hypothesis: small, but with everything a real one may have."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

from sparc_search.ngrams import round_up_9bits
from sparc_search.records import (
    AFTER_JOINT,
    CONTINUES,
    PUNCTUATION,
    EncodedQuestion,
    LexTerm,
    PhraseBlock,
    Phrases,
    SparseColumns,
    WeightedNgram,
)

DENSE, SPAN, POOLED = 6, 3, 5


def generators() -> st.SearchStrategy[Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def blocks(draw: st.DrawFn, max_tokens: int = 40, vocabulary: int = 12) -> PhraseBlock:
    """A block over a tiny vocabulary, so that n-grams repeat and questions match."""
    tokens = draw(st.integers(0, max_tokens))
    rng = draw(generators())
    return random_block(rng, tokens, vocabulary=vocabulary)


def random_block(rng: Generator, tokens: int, *, vocabulary: int = 12, kept: float = 0.6) -> PhraseBlock:
    gaps, lengths = rng.integers(0, 3, tokens), rng.integers(0, 9, tokens)
    ends = np.cumsum(gaps + lengths)
    flags = (
        CONTINUES * (rng.random(tokens) < 0.2) | PUNCTUATION * (rng.random(tokens) < 0.2)
        | AFTER_JOINT * (rng.random(tokens) < 0.05)
    )  # fmt: skip
    terms = np.flatnonzero(rng.random(vocabulary) < 0.5)
    return PhraseBlock(
        token_ids=rng.integers(0, vocabulary, tokens).astype(np.int32),
        offsets=np.stack([ends - lengths, ends], axis=1).astype(np.int32),
        flags=flags.astype(np.uint8),
        start=_side(rng, tokens, kept),
        end=_side(rng, tokens, kept),
        passage_vector=_int8(rng, POOLED),
        passage_scale=float(rng.random()),
        lex_ids=terms.astype(np.int32),
        lex_impacts=round_up_9bits(rng.random(len(terms)) * 2 + 0.01),
    )


def random_question(
    rng: Generator, *, vocabulary: int = 12, grams: int = 6, longest_answer: int = 20
) -> EncodedQuestion:
    return EncodedQuestion(
        text="?",
        start_vector=rng.normal(size=DENSE).astype(np.float32),
        end_vector=rng.normal(size=DENSE).astype(np.float32),
        passage_vector=rng.normal(size=POOLED).astype(np.float32),
        start_ngrams=_ngrams(rng, vocabulary, grams),
        end_ngrams=_ngrams(rng, vocabulary, grams),
        lex_terms=tuple(
            LexTerm(int(i), f"t{i}", int(rng.integers(1, 4))) for i in np.flatnonzero(rng.random(vocabulary) < 0.4)
        ),
        longest_answer=longest_answer,
    )


def _ngrams(rng: Generator, vocabulary: int, grams: int) -> tuple[WeightedNgram, ...]:
    drawn = {tuple(int(i) for i in rng.integers(0, vocabulary, rng.integers(1, 3))) for _ in range(grams)}
    return tuple(WeightedNgram(ids, " ".join(f"t{i}" for i in ids), float(rng.random())) for ids in sorted(drawn))


def _side(rng: Generator, tokens: int, kept: float) -> Phrases:
    positions = np.flatnonzero(rng.random(tokens) < kept).astype(np.int32)
    count = len(positions)
    return Phrases(
        positions=positions,
        vectors=_int8(rng, (count, DENSE)),
        vector_scales=rng.random(count).astype(np.float32),
        spans=_int8(rng, (count, SPAN)),
        span_scales=rng.random(count).astype(np.float32),
        sparse=tuple(_columns(rng, tokens, count, n) for n in (1, 2)),
    )


def _columns(rng: Generator, tokens: int, kept: int, n: int) -> SparseColumns:
    filled = rng.random((tokens, kept)) < 0.3
    filled[max(tokens - n + 1, 0) :] = False  # no n-gram begins there
    rows = np.nonzero(filled)[1]
    return SparseColumns(
        n=n,
        indptr=np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int32),
        rows=rows.astype(np.uint16),
        values=rng.integers(1, 256, len(rows)).astype(np.uint8),
        scale=float(rng.random()) + 0.01,
    )


def _int8(rng: Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    return rng.integers(-127, 128, shape).astype(np.int8)


def coarse(block: PhraseBlock) -> PhraseBlock:
    """The same with vectors of four bits, weights of sixteen levels and short scales: what packs most."""
    return replace(block, start=_coarse(block.start), end=_coarse(block.end))


def _coarse(side: Phrases) -> Phrases:
    return replace(
        side,
        vectors=side.vectors // 16,
        vector_scales=round_up_9bits(side.vector_scales),
        spans=_even(side.spans // 16),
        span_scales=round_up_9bits(side.span_scales),
        sparse=tuple(replace(columns, values=columns.values | 15) for columns in side.sparse),
    )


def _even(matrix: np.ndarray) -> np.ndarray:
    """With a further dimension if their number is odd: halves are packed side by side."""
    return np.pad(matrix, ((0, 0), (0, matrix.shape[1] % 2)))


def same_block(left: Any, right: Any) -> bool:
    """Whether two blocks, or two of their parts, are the same in every number and type."""
    if isinstance(left, np.ndarray):
        return bool(left.dtype == right.dtype and left.shape == right.shape and np.array_equal(left, right))
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same_block, left, right))
    if is_dataclass(left):
        return all(same_block(getattr(left, own.name), getattr(right, own.name)) for own in fields(left))
    return bool(left == right)
