"""The network says what the formulas say, computed here one number after the other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import LOWEST, SPECIAL, tiny_network

from sparc_search.model.encoder_torch import SparcModel
from sparc_search.model.network import SparcNetwork, SparseHead, ngram_mask

PAD, UNK, CLS, SEP = (SPECIAL.index(name) for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]"))


def example(width: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    """Two texts: one with an unknown word, one with padding."""
    rows = [[CLS, 7, 8, 7, UNK, 8, 7, 9, SEP], [CLS, 10, 7, SEP]]
    ids = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
    return ids, (ids != PAD).long()


@given(st.lists(st.integers(0, LOWEST + 2), min_size=1, max_size=9), st.integers(1, 4))
def test_an_ngram_is_a_run_of_ordinary_words(ids: list[int], n: int) -> None:
    expected = [at + n <= len(ids) and all(word >= LOWEST for word in ids[at : at + n]) for at in range(len(ids))]
    assert ngram_mask(torch.tensor([ids]), n, LOWEST)[0].tolist() == expected


def slow_attention(head: SparseHead, states: torch.Tensor, ids: torch.Tensor, n: int, row: int, column: int) -> float:
    """Equation 1 for one pair of positions."""
    words = ids[column : column + n].tolist()
    if len(words) < n or min(words) < LOWEST:
        return 0.0
    return max(0.0, float(head.query(states[row]) @ head.key(states[column])) / math.sqrt(8))


def test_attention_is_equation_1_with_masks_and_without_diagonal() -> None:
    network = tiny_network(ngrams=(1, 2, 3))
    ids, mask = example()
    with torch.no_grad():
        states = network.states(ids, mask)
        attention = network.passages(ids, mask).attention
        assert sorted(attention) == ["end_1", "end_2", "end_3", "start_1", "start_2", "start_3"]
        for name, values in attention.items():
            for text, row, column in np.ndindex(2, 9, 9):
                expected = slow_attention(network.sparse[name], states[text], ids[text], int(name[-1]), row, column)
                expected = 0.0 if row == column else expected
                if mask[text, row]:
                    assert float(values[text, row, column]) == pytest.approx(expected, abs=1e-5)
        assert float((attention["start_1"] > 0).float().mean()) > 0.1  # or nothing was compared


def test_a_question_is_its_cls_row(model: SparcModel) -> None:
    ids, mask = example()
    network = model.network
    with torch.no_grad():
        states = network.states(ids, mask)
        found = network.questions(ids, mask)
        for name, values in found.weights.items():
            for text, column in np.ndindex(2, 9):
                expected = slow_attention(network.sparse[name], states[text], ids[text], int(name[-1]), 0, column)
                assert float(values[text, column]) == pytest.approx(expected, abs=1e-5)
        assert torch.allclose(found.start, network.question_start(states[:, 0]), atol=1e-6)
        assert torch.allclose(found.end, network.question_end(states[:, 0]), atol=1e-6)


def test_heads_of_start_and_end_and_of_each_size_are_not_shared(model: SparcModel) -> None:
    ids, mask = example()
    with torch.no_grad():
        attention = model.network.passages(ids, mask).attention
    values = [attention[name] for name in ("start_1", "end_1", "start_2", "end_2")]
    assert not any(torch.equal(values[a], values[b]) for a in range(4) for b in range(a))


def test_pooled_is_the_mean_of_real_tokens_of_unit_length(model: SparcModel) -> None:
    ids, mask = example()
    with torch.no_grad():
        states = model.network.states(ids, mask)
        passages, questions = model.network.passages(ids, mask), model.network.questions(ids, mask)
    for text, length in enumerate((9, 4)):
        mean = states[text, :length].mean(0)
        assert torch.allclose(passages.pooled[text], mean / mean.norm(), atol=1e-5)
    assert torch.allclose(questions.pooled, passages.pooled * 14, atol=1e-4)  # the learned factor starts at 14


def test_the_filter_does_not_bend_what_it_filters() -> None:
    network = tiny_network()
    network.passages(*example()).filter.square().sum().backward()  # type: ignore[no-untyped-call]
    touched = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert touched == {"filter.weight", "filter.bias"}


def test_only_the_body_is_no_head() -> None:
    network: SparcNetwork = tiny_network()
    body = sum(parameter.numel() for parameter in network.body.parameters())
    heads = sum(parameter.numel() for parameter in network.head_parameters())
    assert body + heads == sum(parameter.numel() for parameter in network.parameters())
    assert not any("pooler" in name for name in network.state_dict())
