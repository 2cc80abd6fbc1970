"""Packed into shared rows, a text has the states it has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import random_ids, tiny_network
from tiny_training import CLS_SEP_PAD

from sparc_search.training.batches import padded
from sparc_search.training.packing import PACKABLE, pack, packed_states

BODIES: dict[str, dict[str, Any]] = {
    "bert": {},
    "electra": {"model_type": "electra", "embedding_size": 32},
    "distilbert": {"model_type": "distilbert", "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    "roberta": {"model_type": "roberta", "max_position_embeddings": 66},
}
NETWORKS = {name: tiny_network(1, body) for name, body in BODIES.items()}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_no_two_texts_overlap_and_rows_are_full_where_they_can_be(lengths: list[int]) -> None:
    packing = pack(lengths)
    places = [at for start, length in zip(packing.starts, lengths, strict=True) for at in range(start, start + length)]
    assert len(set(places)) == sum(lengths)
    assert packing.width == max(lengths)
    assert max(places) < packing.rows * packing.width
    for start, length in zip(packing.starts.tolist(), lengths, strict=True):
        assert start // packing.width == (start + length - 1) // packing.width  # no text goes on in the next row
    assert packing.rows <= len(lengths)


@pytest.mark.parametrize("body", BODIES)
@settings(max_examples=6)
@given(lengths=st.tuples(*[st.lists(st.integers(1, 30), min_size=1, max_size=5)] * 2))
def test_packed_states_equal_padded_states(body: str, lengths: tuple[list[int], list[int]]) -> None:
    network = NETWORKS[body]
    rng = np.random.default_rng(0)
    groups = [padded([random_ids(rng, length) for length in group], CLS_SEP_PAD) for group in lengths]
    with torch.no_grad():
        for (ids, mask), states in zip(groups, packed_states(network, *groups), strict=True):
            expected = network.states(ids, mask)
            assert states.shape == expected.shape
            torch.testing.assert_close(states[mask.bool()], expected[mask.bool()], atol=2e-5, rtol=1e-4)


def test_every_packable_body_is_tried_here() -> None:
    assert set(BODIES) >= PACKABLE
