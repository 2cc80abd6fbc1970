"""The network of a cross-encoder (torch): a BERT-like body and one linear layer, and its ONNX file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..errors import ModelNotFound, UsageError
from ..model.config import SparcConfig
from ..model.encoder_torch import SparcModel, load_tensors, save_tensors
from ..model.export import save
from ..model.files import CARD, WEIGHTS
from ..model.onnx_graph import GraphBuilder, bert_body, linear
from ..model.onnx_precision import PRECISIONS
from ..training.arithmetic import autocast
from .reading import ReaderNetwork


class CrossEncoderNetwork(nn.Module):
    """The body and the layer that gives each word piece a start and an end logit."""

    def __init__(self, config: dict[str, Any], attention: str = "sdpa") -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModel

        shape = dict(config)
        kind = shape.pop("model_type")
        self.body = AutoModel.from_config(AutoConfig.for_model(kind, **shape), attn_implementation=attention)
        if getattr(self.body, "pooler", None) is not None:
            self.body.pooler = None
        self.logits = nn.Linear(int(config["hidden_size"]), 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(B, T) -> (B, T, 2)."""
        scores: Tensor = self.logits(self.body(input_ids=ids, attention_mask=mask).last_hidden_state)
        return scores


def load_base(base: Path, config: dict[str, Any], arithmetic: str = "fp32") -> CrossEncoderNetwork:
    """A body with base weights and an untrained layer on it, or a reader as it was when its training ended.

    Attention is torch's fused one, a third quicker in fp32; in bf16 that takes half of a step to go backwards, and
    plain products do not.
    """
    if config["model_type"] != "bert":
        raise UsageError(f"a reader needs a BERT body, not {config['model_type']}", "name another --base")
    network = CrossEncoderNetwork(config, "eager" if arithmetic == "bf16" else "sdpa")
    weights = _base_weights(base)
    wanted = network.body.state_dict()
    missing = sorted(set(wanted) - set(weights))
    if missing:
        raise ModelNotFound(f"the weights in {base} lack {missing[0]}", "the folder needs the model's *.safetensors")
    network.body.load_state_dict({name: weights[name].float() for name in wanted})
    if {f"logits.{part}" for part in ("weight", "bias")} <= set(weights):  # a reader's, which goes on from where it was
        network.logits.load_state_dict({part: weights[f"logits.{part}"].float() for part in ("weight", "bias")})
    return network


def _base_weights(base: Path) -> dict[str, Tensor]:
    if (base / CARD).is_file():
        body: dict[str, Tensor] = SparcModel.from_pretrained(base).network.body.state_dict()
        return body
    weights = {name: value for path in sorted(base.glob("*.safetensors")) for name, value in load_tensors(path).items()}
    return {name.removeprefix("bert.").removeprefix("body."): value for name, value in weights.items()}


def save_as_base(network: CrossEncoderNetwork, config: dict[str, Any], folder: Path) -> None:
    """What `load_base` reads: the weights in fp16, for another stretch on other data, or with another rate."""
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf-8")
    save_tensors(folder / WEIGHTS, network.state_dict())


def export(network: CrossEncoderNetwork, config: dict[str, Any], target: Path, precision: str = "fp32") -> None:
    """The network as an ONNX file, by the same fused graph as the model it is compared with: the same terms."""
    weights: dict[str, NDArray[np.float32]] = {
        name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()
    }
    graph = GraphBuilder()
    states = bert_body(graph, SparcConfig(body=config), weights)
    linear(graph, states, weights, "logits", to="logits")
    model = graph.model(["logits"])
    PRECISIONS[precision](model)
    save(model, target)


def run_torch(network: CrossEncoderNetwork, arithmetic: str = "fp32") -> ReaderNetwork:
    """The network, without a file."""

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        with torch.inference_mode(), autocast(arithmetic, "cpu"):
            logits: NDArray[np.float32] = network(torch.from_numpy(ids), torch.from_numpy(mask)).float().numpy()
        return logits

    return run
