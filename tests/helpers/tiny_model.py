"""A SPARC model small enough for a test: a BERT of two layers with random weights over the words of tiny_pieces.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tiny_pieces import (  # noqa: F401 (the tests of the model find all of it here)
    BODY,
    LOWEST,
    SPECIAL,
    VOCABULARY_SIZE,
    WORDS,
    random_ids,
    tiny_config,
    tiny_pieces,
    tiny_tokenizer,
)

from sparc_search.model.encoder_torch import SparcModel, new_network
from sparc_search.model.network import SparcNetwork

torch.set_num_threads(1)  # tiny matrices are slower on many, and so sums keep their order


def tiny_network(seed: int = 0, body: Mapping[str, Any] | None = None, **changes: Any) -> SparcNetwork:
    """Random weights, strong enough that texts differ and about half of the attention is positive."""
    generator = torch.Generator().manual_seed(seed)
    network = new_network(tiny_config(body, **changes)).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
            elif "LayerNorm" not in name and parameter.dim():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return network


def tiny_model(seed: int = 0, **changes: Any) -> SparcModel:
    return SparcModel(tiny_network(seed, **changes), tiny_pieces())


def without_padding(name: str, values: NDArray[np.float32], length: int) -> NDArray[np.float32]:
    """Output `name` of one text, at its `length` real tokens."""
    if name[-1].isdigit():
        axes = 1 if name.startswith("question_") else 2
    else:
        axes = int(name in ("start", "end", "span_start", "span_end", "filter"))
    return values[(slice(length),) * axes]


def old_style_onnx(weights: Mapping[str, NDArray[np.float32]], path: Path) -> None:
    """A BERT's weights as older exporters left them: linear weights anonymous, transposed, known by their MatMul only.

    The graph is not one that runs; nothing but its constants and node names is ever read.
    """
    constants, nodes = [numpy_helper.from_array(np.arange(4)[None], "embeddings.position_ids")], []
    for number, (name, value) in enumerate(weights.items()):
        linear = value.ndim == 2 and not name.startswith("embeddings.")
        stored = f"onnx::MatMul_{number}" if linear else name
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value.T if linear else value), stored))
        if linear:
            node = "/" + name.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.") + "/MatMul"
            nodes.append(helper.make_node("MatMul", ["x", stored], [f"y{number}"], name=node))
    nodes.append(helper.make_node("MatMul", ["x", "x"], ["scores"], name="/encoder/layer.0/attention/self/MatMul"))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "bert", inputs, [], constants)
    onnx.save(helper.make_model(graph), str(path))
