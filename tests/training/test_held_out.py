"""The quick measurement inside training, against a search that looks at every span."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import tiny_network
from tiny_training import CLS_SEP_PAD, random_passages, random_states, whole_batch

from sparc_search.training.held_out import best_span, measure
from sparc_search.training.losses import dense_logits, legal_choices


@given(st.integers(0, 2**31), st.integers(1, 12))
@settings(max_examples=10)
def test_the_best_span_is_the_best_of_all(seed: int, longest: int) -> None:
    batch = whole_batch(random_passages(seed))
    logits = dense_logits(*random_states(batch, seed, ()), longest)
    legal = legal_choices(batch.answer_words, batch.allowed, longest)
    start_logits, end_logits, span_logits = (part.numpy() for part in logits[:3])
    for question, passage in np.ndindex(*batch.allowed.shape):
        words = range(1, int(batch.passage_mask[passage].sum()) - 1)
        scores = {
            (i, j): start_logits[question, passage, i]
            + end_logits[question, passage, j]
            + span_logits[passage, i, j - i]
            for i in words
            for j in range(i, min(i + longest, words.stop))
        }
        found = best_span(logits, legal, question, passage)
        assert scores[found] >= max(scores.values()) - 1e-4


def test_measures_are_shares_and_change_nothing() -> None:
    network = tiny_network().train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    measures = measure(network, random_passages(0, 40), CLS_SEP_PAD)
    assert sorted(measures) == sorted(
        ["em", "f1", "em_dense_only", "f1_dense_only", "passage_first_vector", "passage_first_bound"]
    )
    assert all(0 <= value <= 1 for value in measures.values())
    assert measures["em"] <= measures["f1"]
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert measure(network, random_passages(0, 40), CLS_SEP_PAD) == measures
