"""The kernel F F'ᵀ against n-gram vectors that are written out, and logits against slow loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import LOWEST
from tiny_training import random_passages, random_states, whole_batch

from sparc_search.training.losses import coherency, dense_logits, ngram_matches, sparse_logits

seeds = st.integers(0, 2**31)


def ngram_vector(ids: list[int], weights: list[float], n: int) -> Counter[tuple[int, ...]]:
    """Row of ReLU(QKᵀ)F: the bag of a text's n-grams; one that stands at several positions is summed."""
    vector: Counter[tuple[int, ...]] = Counter()
    for at, weight in enumerate(weights):
        if weight:
            vector[tuple(ids[at : at + n])] += weight  # type: ignore[assignment]
    return vector


def product(one: Counter[tuple[int, ...]], other: Counter[tuple[int, ...]]) -> float:
    return float(sum(weight * other[ngram] for ngram, weight in one.items()))


@given(seeds, st.sampled_from([1, 2, 3]))
@settings(max_examples=40)
def test_the_kernel_is_the_product_of_ngram_vectors(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    passage, question = (rng.integers(LOWEST, LOWEST + 3, int(length)).tolist() for length in rng.integers(1, 9, 2))
    weights = [[(at + n <= len(ids)) * rng.random() for at in range(len(ids))] for ids in (passage, question)]
    matches = ngram_matches(torch.tensor([passage]), torch.tensor([question]), n)[0, :, 0].double()  # (M, T)
    found = torch.tensor(weights[1]).double() @ matches @ torch.tensor(weights[0]).double()
    expected = product(ngram_vector(passage, weights[0], n), ngram_vector(question, weights[1], n))
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_repeated_ngrams_are_summed_on_both_sides() -> None:
    """Passage "a b a b", question "a b a": the bigram (a, b) stands twice in one and once in the other."""
    a, b = LOWEST, LOWEST + 1
    matches = ngram_matches(torch.tensor([[a, b, a, b]]), torch.tensor([[a, b, a]]), 2)[0, :, 0]
    inside = matches[:2, :3].int().tolist()  # behind them no whole bigram starts; the weights there are zero
    assert inside == [[1, 0, 1], [0, 1, 0]]


@given(seeds)
@settings(max_examples=15)
def test_sparse_logits_are_products_of_ngram_vectors(seed: int) -> None:
    batch = whole_batch(random_passages(seed))
    passages, questions = random_states(batch, seed)
    found = sparse_logits(passages, questions, batch.passage_ids, batch.question_ids, batch.answer_words)
    bounds = torch.zeros_like(found.bound)
    for question, passage in np.ndindex(*found.bound.shape):
        asked, text = batch.question_ids[question].tolist(), batch.passage_ids[passage].tolist()
        words = range(1, int(batch.passage_mask[passage].sum()) - 1)  # neither [CLS] nor [SEP]
        for side, values in (("start", found.start), ("end", found.end)):
            expected = [0.0] * len(text)
            for n in (1, 2, 3):
                attention = passages.attention[f"{side}_{n}"][passage]
                vector = ngram_vector(asked, questions.weights[f"{side}_{n}"][question].tolist(), n)
                for row in words:
                    expected[row] += product(ngram_vector(text, attention[row].tolist(), n), vector)
                columns = attention[list(words)].amax(0).tolist()
                bounds[question, passage] += product(ngram_vector(text, columns, n), vector)
            assert values[question, passage].tolist() == pytest.approx(expected, abs=1e-3)
            assert max(expected) <= float(found.bound[question, passage]) + 1e-3
    assert torch.allclose(found.bound, bounds, atol=1e-3)


@given(seeds)
@settings(max_examples=15)
def test_dense_logits_are_inner_products(seed: int) -> None:
    batch = whole_batch(random_passages(seed))
    passages, questions = random_states(batch, seed, ())
    found = dense_logits(passages, questions, longest=4)
    for question, passage, token in np.ndindex(*found.start.shape):
        start = float(passages.start[passage, token] @ questions.start[question])
        end = float(passages.end[passage, token] @ questions.end[question])
        assert float(found.start[question, passage, token]) == pytest.approx(start, abs=1e-4)
        assert float(found.end[question, passage, token]) == pytest.approx(end, abs=1e-4)
    for question, passage in np.ndindex(*found.passage.shape):
        expected = float(passages.pooled[passage] @ questions.pooled[question])
        assert float(found.passage[question, passage]) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("longest", [1, 3, 12])
def test_coherency_pairs_each_start_with_the_ends_behind_it(longest: int) -> None:
    generator = torch.Generator().manual_seed(0)
    starts, ends = (torch.randn(2, 7, 4, generator=generator) for _ in range(2))
    found = coherency(starts, ends, longest)
    assert found.shape == (2, 7, longest)
    for passage, start, length in np.ndindex(2, 7, longest):
        inside = start + length < 7
        expected = float(starts[passage, start] @ ends[passage, start + length]) if inside else 0.0
        assert float(found[passage, start, length]) == pytest.approx(expected, abs=1e-5)
