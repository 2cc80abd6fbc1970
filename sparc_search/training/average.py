"""A running average of the weights: the model that is measured and shipped. Young, it forgets early steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Exponential average of a network's trainable parameters."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self._values = {name: value.detach().clone() for name, value in trainable(network).items()}

    @property
    def values(self) -> dict[str, Tensor]:
        """The averages by parameter name."""
        return self._values

    @values.setter
    def values(self, saved: dict[str, Tensor]) -> None:
        # A file has them sorted by name and on the CPU; `update` walks over them beside the network's parameters.
        self._values = {name: saved[name].to(value.device) for name, value in self._values.items()}

    def update(self, network: nn.Module, step: int) -> None:
        """Take in the weights after step number `step`."""
        keep = min(self.decay, (1 + step) / (10 + step))
        with torch.no_grad():
            torch._foreach_lerp_(list(self._values.values()), list(trainable(network).values()), 1 - keep)

    @contextmanager
    def in_place(self, network: nn.Module) -> Iterator[None]:
        """Let the network hold the average for a while."""
        live = {name: value.detach().clone() for name, value in trainable(network).items()}
        copy_into(network, self._values)
        try:
            yield
        finally:
            copy_into(network, live)


def trainable(network: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters that training changes, by name."""
    return {name: value for name, value in network.named_parameters() if value.requires_grad}


def copy_into(network: nn.Module, values: dict[str, Tensor]) -> None:
    """Overwrite parameters by name."""
    with torch.no_grad():
        for name, parameter in trainable(network).items():
            parameter.copy_(values[name])
