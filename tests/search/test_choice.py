from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_blocks import blocks, generators, random_question

from sparc_search.block_batch import batch_of
from sparc_search.records import PART_KINDS, PhraseBlock
from sparc_search.search.choice import best_first, without_overlaps
from sparc_search.search.lexical import LexWeight
from sparc_search.search.scorer import PhraseScores, ScoredSpan, ScoredSpans

SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 4), st.integers(-3, 3)), max_size=300
).map(lambda rows: sorted({(b, i, i + n): s for b, i, n, s in rows}.items(), key=lambda row: (-row[1], row[0])))
Rows = list[tuple[tuple[int, int, int], int]]


def spans_of(rows: Rows) -> list[ScoredSpan]:
    block, start, end = (np.array([key[n] for key, _ in rows], np.int64) for n in range(3))
    score = np.array([score for _, score in rows], np.float64)
    scored = ScoredSpans(block, start, end, score, lambda number: (float(score[number]),) * len(PART_KINDS))
    return [scored.span(number) for number in range(len(rows))]


@settings(max_examples=60)
@given(st.lists(blocks(max_tokens=24), min_size=1, max_size=4), generators(), st.integers(1, 40))
def test_the_rank_is_by_score_then_block_start_end(
    many: list[PhraseBlock], rng: np.random.Generator, at_once: int
) -> None:
    question = random_question(rng)
    lex = [LexWeight(term.id, term.name, float(rng.random())) for term in question.lex_terms]
    scores = PhraseScores(question, lex, batch_of(many))
    every = scores.spans()
    order = sorted(range(len(every)), key=lambda n: (-every.score[n], every.block[n], every.start[n], every.end[n]))
    found = list(best_first(scores, at_once))
    assert [(span.score, span.parts) for span in found] == [(every.score[n], every.parts(n)) for n in order]
    assert [span[:3] for span in found] == [every.span(n)[:3] for n in order]


@settings(max_examples=60)
@given(st.lists(blocks(max_tokens=24), min_size=1, max_size=4), generators())
def test_no_span_is_better_than_its_bound(many: list[PhraseBlock], rng: np.random.Generator) -> None:
    scores = PhraseScores(random_question(rng), [], batch_of(many))
    for row, bound in enumerate(scores.bounds().tolist()):
        best = scores.spans(np.array([row])).score.max(initial=-np.inf)
        assert best <= bound or best == pytest.approx(bound, rel=1e-12, abs=1e-9)


def test_equals_stay_in_the_order_of_their_blocks() -> None:
    from random_blocks import random_block

    rng = np.random.default_rng(5)
    copies = [random_block(rng, 12)] * 7
    found = list(best_first(PhraseScores(random_question(rng), [], batch_of(copies)), 3))
    assert len(found) > 7
    for first in range(0, len(found), 7):
        assert [span.block for span in found[first : first + 7]] == list(range(7))


@given(SPANS, st.integers(1, 9))
def test_the_best_without_overlaps(rows: Rows, k: int) -> None:
    chosen: list[int] = []
    for number in range(len(rows)):
        block, start, end = rows[number][0]
        others = [rows[other][0] for other in chosen]
        if all(block != b or end < i or start > j for b, i, j in others):
            chosen.append(number)
    assert [span.number for span in islice(without_overlaps(spans_of(rows)), k)] == chosen[:k]
