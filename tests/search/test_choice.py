from __future__ import annotations

from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.search.choice import ranked, without_overlaps
from sparc_search.search.scorer import ScoredSpans

SPANS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 4), st.integers(-3, 3)), max_size=300
).map(lambda rows: sorted({(b, i, i + n): s for b, i, n, s in rows}.items()))
Rows = list[tuple[tuple[int, int, int], int]]


def spans_of(rows: Rows) -> ScoredSpans:
    block, start, end = (np.array([key[n] for key, _ in rows], np.int64) for n in range(3))
    nothing = np.zeros(0)
    pair, ints = (nothing, nothing), (block, block)
    score = np.array([score for _, score in rows], np.float64)
    return ScoredSpans(block, start, end, score, ints, nothing, pair, pair, nothing, nothing)


@given(SPANS)
def test_the_rank_is_by_score_then_block_start_end(rows: Rows) -> None:
    order = sorted(range(len(rows)), key=lambda n: (-rows[n][1], rows[n][0]))
    assert list(ranked(spans_of(rows))) == order


@given(SPANS, st.integers(1, 9))
def test_the_best_without_overlaps(rows: Rows, k: int) -> None:
    chosen: list[int] = []
    for number in sorted(range(len(rows)), key=lambda n: (-rows[n][1], rows[n][0])):
        block, start, end = rows[number][0]
        others = [rows[other][0] for other in chosen]
        if all(block != b or end < i or start > j for b, i, j in others):
            chosen.append(number)
    assert list(islice(without_overlaps(spans_of(rows)), k)) == chosen[:k]
