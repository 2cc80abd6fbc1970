from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_blocks import random_question

from sparc_search.records import LexTerm
from sparc_search.search.lexical import MOST_COUNTED, idf, lex_weights
from sparc_search.search.sparse_first import sparse_query
from sparc_search.stored import Statistics


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_idf_is_always_above_zero(passages: int, containing: int) -> None:
    assert idf(passages, containing) > 0


def test_rarer_weighs_more() -> None:
    assert idf(100, 1) > idf(100, 2) > idf(100, 100) > 0
    assert idf(100, 3) == pytest.approx(math.log(1 + (97 + 0.5) / 3.5))


def test_a_count_above_the_passages_does_no_harm() -> None:
    assert idf(10, 11) == idf(10, 10)


def test_weights_of_a_question() -> None:
    question = replace(
        random_question(np.random.default_rng(0)),
        lex_terms=(LexTerm(1, "a", 1), LexTerm(2, "b", 2), LexTerm(3, "c", 99), LexTerm(4, "new", 1)),
    )
    weights = lex_weights(question, Statistics(1, 10, {"a": 2, "b": 2, "c": 2}))
    assert [weight.name for weight in weights] == ["a", "b", "c", "new"]
    once = idf(10, 2)
    expected = [once, min(2, MOST_COUNTED) * once, MOST_COUNTED * once, idf(10, 0)]
    assert [weight.weight for weight in weights] == pytest.approx(expected)
    query = sparse_query(question, weights, 0.5)
    assert query["lex"]["a"] == pytest.approx(once / 2)
    assert set(query["start"]) == {ngram.name for ngram in question.start_ngrams if ngram.weight > 0}
    assert sparse_query(question, weights, 0.0)["lex"] == {}
