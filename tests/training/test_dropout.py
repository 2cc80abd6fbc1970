"""Dropout: its share, its scale, that it rests outside training, and that seed and step decide."""

from __future__ import annotations

import torch
from tiny_model import tiny_network

from sparc_search.training.dropout import Dropout, Masks, install_dropout
from sparc_search.training.freezing import freeze, layers_of


def test_a_share_is_dropped_and_the_mean_stays() -> None:
    dropped = Dropout(0.25, Masks())(torch.ones(400, 100))
    assert abs(float((dropped == 0).float().mean()) - 0.25) < 0.02
    assert abs(float(dropped.mean()) - 1) < 0.02


def test_it_rests_outside_training() -> None:
    states = torch.randn(5, 7)
    assert torch.equal(Dropout(0.5, Masks()).eval()(states), states)
    assert torch.equal(Dropout(0.0, Masks())(states), states)


def test_seed_and_step_decide() -> None:
    masks = Masks()
    dropout, states = Dropout(0.5, masks), torch.ones(30, 30)

    def drawn(*seed: int) -> torch.Tensor:
        masks.reseed(*seed)
        found: torch.Tensor = dropout(states)
        return found

    assert torch.equal(drawn(1, 2), drawn(1, 2))
    assert not torch.equal(drawn(1, 2), drawn(1, 3))


def test_layers_get_it_but_attention_and_frozen_parts_do_not() -> None:
    network = tiny_network()
    freeze(network.body, 1)
    install_dropout(network.body, 0.1, Masks())
    with_it = {name for name, module in network.body.named_modules() if isinstance(module, Dropout)}
    assert with_it == {"encoder.layer.1.attention.output.dropout", "encoder.layer.1.output.dropout"}
    rest = [module for module in network.body.modules() if isinstance(module, torch.nn.Dropout)]
    assert all(module.p == 0 for module in rest)
    assert len(layers_of(network.body)) == 2
