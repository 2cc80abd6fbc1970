"""Dropout that is cheap on a processor and the same after a resume.

torch draws its masks one number at a time, 9 % of a step; bytes of a numpy generator cost a tenth of that. Attention
weights are left alone: their masks are larger than all others together. The masks of
a step follow from (seed, step) alone, so a run that was killed and resumed drops what it would have dropped.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zeroes a share of its input in training, in steps of 1/256, and scales up the rest."""

    def __init__(self, share: float, masks: Masks) -> None:
        super().__init__()
        self.below, self.masks = round(256 * share), masks

    def forward(self, states: Tensor) -> Tensor:
        """(...) -> (...)."""
        if not self.training or not self.below:
            return states
        kept = (self.masks.draw(states.numel()) >= self.below).view(states.shape).to(states.device)
        return states * kept * (256 / (256 - self.below))


class Masks:
    """Random bytes that all dropouts of a network share."""

    def __init__(self) -> None:
        self._generator = np.random.Generator(np.random.SFC64(0))

    def reseed(self, *seed: int) -> None:
        """Begin a step."""
        self._generator = np.random.Generator(np.random.SFC64(seed))

    def draw(self, count: int) -> Tensor:
        """So many bytes."""
        return torch.frombuffer(bytearray(self._generator.bytes(count)), dtype=torch.uint8)


def install_dropout(body: nn.Module, share: float, masks: Masks) -> None:
    """Give the body's layers this dropout; attention weights and frozen parts get none."""
    for name, module in list(body.named_modules()):
        if isinstance(module, nn.Dropout):
            parent = body.get_submodule(name.rpartition(".")[0])
            trained = any(parameter.requires_grad for parameter in parent.parameters())
            if "attention" in type(parent).__name__.lower() or not trained:
                module.p = 0.0
            else:
                setattr(parent, name.rpartition(".")[2], Dropout(share, masks))
