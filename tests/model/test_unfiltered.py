"""What an encoder shows of itself: what its filter left out, and its word pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sparc_search.model.after_network import may_be
from sparc_search.model.encoding import NetworkEncoder
from sparc_search.records import SIDES, Passage

pytestmark = pytest.mark.extras  # the tiny model is made with torch

PASSAGE = Passage("d/0", "d", 0, "The golden dome of the museum was painted in 1882, climbing the tower.", title="Rome")


def filtering(encoder: NetworkEncoder, threshold: float) -> NetworkEncoder:
    """The same encoder with another filter."""
    config = replace(encoder.config, filter_thresholds=(threshold, threshold), title_window=2)
    return NetworkEncoder(config, encoder.pieces, encoder._passage_network, encoder._question_network, "x")


@pytest.mark.parametrize("threshold", [-100.0, 0.0, 1e9])
def test_every_token_at_which_a_phrase_may_start_or_end_is_kept(
    torch_encoder: NetworkEncoder, threshold: float
) -> None:
    encoder = filtering(torch_encoder, threshold)
    (whole,) = encoder.encode_unfiltered([PASSAGE])
    (kept,) = encoder.encode_passages([PASSAGE])
    for side in SIDES:
        own, stored = getattr(whole.block, side), getattr(kept.block, side)
        np.testing.assert_array_equal(own.positions, np.flatnonzero(may_be(side, whole.block.flags)))
        assert set(stored.positions) <= set(own.positions)
        if threshold == 1e9:
            assert not len(stored.positions)
    np.testing.assert_array_equal(whole.block.token_ids, kept.block.token_ids)


def test_word_pieces_are_those_it_reads(torch_encoder: NetworkEncoder) -> None:
    pieces = torch_encoder.word_pieces("Climbing the dome")
    assert pieces == ["climb", "##ing", "the", "dome"]
    ids = torch_encoder.encode_passages([Passage("d/0", "d", 0, "Climbing the dome")])[0].block.token_ids
    assert [torch_encoder.piece(token_id) for token_id in ids.tolist()] == pieces
