"""Parts of the body that a run leaves as they are: the word embeddings always, the lowest layers if asked.

Nothing below the first trained layer keeps what going backwards would need: with half of the layers frozen a step
costs a third less.
"""

from __future__ import annotations

from torch import nn

from ..errors import UsageError


def freeze(body: nn.Module, layers: int) -> None:
    """Freeze the word embeddings; with `layers`, all embeddings and so many layers from below."""
    embeddings = body.embeddings
    assert isinstance(embeddings, nn.Module)
    embeddings.word_embeddings.requires_grad_(False)
    if not layers:
        return
    stack = layers_of(body)
    if layers > len(stack):
        raise UsageError(f"the body has {len(stack)} layers; {layers} cannot be frozen", "lower --freeze-layers")
    for module in (embeddings, *stack[:layers]):
        module.requires_grad_(False)


def layers_of(body: nn.Module) -> nn.ModuleList:
    """The stack of transformer layers, whatever its family calls it."""
    return next(module for module in body.modules() if isinstance(module, nn.ModuleList))
