"""Hard passages for each other: by words at first, by question vectors later."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import VOCABULARY_SIZE
from tiny_training import random_passages

from sparc_search.training.batches import number_questions
from sparc_search.training.negatives import (
    inverse_document_frequency,
    lexical_vectors,
    nearest_passages,
    rank_in_group,
)


@given(st.integers(0, 999), st.integers(1, 6), st.integers(1, 5))
@settings(max_examples=30)
def test_nearest_by_the_first_questions_of_each(seed: int, passages: int, asked: int) -> None:
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(passages), rng.integers(1, 7, passages))
    vectors = rng.standard_normal((len(owner), 5)).astype(np.float32)
    found = nearest_passages(vectors, owner, neighbours=100, asked=asked)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    speakers = [np.flatnonzero(owner == passage)[:asked] for passage in range(passages)]
    for passage in range(passages):
        scores = {
            other: float((unit[speakers[passage]] @ unit[speakers[other]].T).max())
            for other in range(passages)
            if other != passage
        }
        assert sorted(found[passage]) == sorted(scores)  # every other passage, once, and never itself
        values = [scores[other] for other in found[passage]]
        assert all(one >= other - 1e-5 for one, other in pairwise(values))


def test_only_so_many_neighbours() -> None:
    vectors = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
    assert {len(near) for near in nearest_passages(vectors, np.arange(40), neighbours=3, asked=1)} == {3}


def test_one_passage_has_no_neighbour() -> None:
    assert nearest_passages(np.ones((2, 4), np.float32), np.asarray([0, 0])) == [[]]


def test_rank_in_group() -> None:
    assert rank_in_group(np.asarray([0, 0, 0, 1, 2, 2])).tolist() == [0, 1, 2, 0, 0, 1]


def test_rare_words_weigh_more() -> None:
    data = random_passages(0, 20)
    idf = inverse_document_frequency(data, VOCABULARY_SIZE)
    for token in (6, 9, 400):
        count = sum(token in passage.ids for passage in data)
        assert math.isclose(idf[token], math.log(1 + (20 - count + 0.5) / (count + 0.5)), rel_tol=1e-5)
    assert idf[400] == idf.max()
    assert (idf > 0).all()


def test_questions_with_the_same_words_are_near() -> None:
    data = random_passages(0, 30, questions=1, longest=9)
    data[29].questions[0].ids = data[3].questions[0].ids
    data[29].ids = data[3].ids
    idf = inverse_document_frequency(data, VOCABULARY_SIZE)
    vectors = lexical_vectors(data, idf, seed=1)
    assert vectors.shape == (30, 128)
    assert np.array_equal(vectors, lexical_vectors(data, idf, seed=1))
    near = nearest_passages(vectors, number_questions(data)[1])
    assert near[3][0] == 29
    assert near[29][0] == 3
