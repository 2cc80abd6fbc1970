"""Training that computes as int8 will: weights rounded to 7 bits, activations to 8 with scales that are learned.

Every product of the network gets rounded weights (a scale for each output) and a rounded input (a range for each
place, shared by all that reads it, as in the ONNX graph). Rounding lets gradients pass straight through. The ranges
are fixed when training ends: a text's result then never depends on its neighbours in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from ..errors import UsageError
from ..model.network import SparcNetwork
from ..model.onnx_precision import WEIGHT_LEVELS

_STEPS = 255
Ranges = dict[str, tuple[float, float]]


class Range(nn.Module):
    """The lowest and highest input of a product; 0 always lies between them."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))
        self.watching = True

    def forward(self, states: Tensor) -> Tensor:
        """The states as 8 bits would keep them; while watching, as they are."""
        if self.watching:
            with torch.no_grad():
                self.low.copy_(torch.minimum(self.low, states.min()))
                self.high.copy_(torch.maximum(self.high, states.max()))
            return states
        scale = (self.high.clamp(min=1e-4) - self.low.clamp(max=0)) / _STEPS
        zero = rounded(-self.low.clamp(max=0) / scale)
        return (rounded(states / scale + zero).clamp(0, _STEPS) - zero) * scale


class QuantisedLinear(nn.Linear):
    """A linear layer with rounded weights and input; it shares weight and bias with the layer it stands for."""

    def __init__(self, linear: nn.Linear, place: Range) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._place = (place,)  # not a part: several layers read at one place

    def forward(self, input: Tensor) -> Tensor:
        """input W^T + b."""
        scale = self.weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-12) / WEIGHT_LEVELS
        weight = rounded(self.weight / scale) * scale
        return nn.functional.linear(self._place[0](input), weight, self.bias)


def rounded(values: Tensor) -> Tensor:
    """To whole numbers; gradients pass as if it were not."""
    return values + (values.round() - values).detach()


def quantise(network: SparcNetwork) -> None:
    """Let the network compute with rounded numbers; its ranges watch first, until `settle`."""
    if network.config.body["model_type"] != "bert":
        raise UsageError("only BERT bodies can be trained for int8", "leave out --quantise")
    ranges = {place: Range() for place in places(network)}
    for place, names in places(network).items():
        for name in names:
            parent, _, last = name.rpartition(".")
            setattr(network.get_submodule(parent), last, QuantisedLinear(network.get_submodule(name), ranges[place]))
    network.ranges = nn.ModuleDict({place.replace(".", "/"): found for place, found in ranges.items()})


def settle(network: SparcNetwork, watch: Callable[[], None]) -> None:
    """Let the ranges see some batches (`watch` runs them), then hold them to what they saw."""
    with torch.no_grad():
        watch()
    for found in network.ranges.values():
        found.watching = False


def release(network: SparcNetwork) -> Ranges:
    """Take the rounding out again; what it learned, by the names of the ONNX graph's products."""
    for names in places(network).values():
        for name in names:
            parent, _, last = name.rpartition(".")
            set_plain(network.get_submodule(parent), last)
    learned = {
        place.replace("/", "."): (min(0.0, found.low.item()), max(1e-4, found.high.item()))
        for place, found in network.ranges.items()
    }
    del network.ranges
    return learned


def set_plain(parent: nn.Module, name: str) -> None:
    """Put a plain layer with the same weights in the place of a quantised one."""
    quantised = getattr(parent, name)
    plain = nn.Linear(quantised.in_features, quantised.out_features, device="meta")
    plain.weight, plain.bias = quantised.weight, quantised.bias
    setattr(parent, name, plain)


def places(network: SparcNetwork) -> dict[str, list[str]]:
    """For each product of the ONNX graph: the layers that are in it."""
    found = dict(_body_places(int(network.config.body["num_hidden_layers"])))
    plain = ["start", "end", "span_start", "span_end", "filter"]
    found["heads"] = [*plain, *(f"sparse.{name}.{part}" for name in network.sparse for part in ("query", "key"))]
    return {**found, "question_start": ["question_start"], "question_end": ["question_end"]}


def _body_places(layers: int) -> Iterator[tuple[str, list[str]]]:
    for layer in (f"body.encoder.layer.{number}" for number in range(layers)):
        yield f"{layer}.qkv", [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        yield f"{layer}.attention.output", [f"{layer}.attention.output.dense"]
        yield f"{layer}.intermediate.dense", [f"{layer}.intermediate.dense"]
        yield f"{layer}.output", [f"{layer}.output.dense"]
