"""Weights of a BERT body out of an ONNX file, under the names transformers gives them.

Exporters keep the names of embeddings, biases and layer norms, but a linear layer's weight becomes an anonymous,
transposed constant of a MatMul node; the node's own name says which layer it belongs to.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def bert_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """All weights of the BERT encoder stored in the ONNX file at `path`."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    constants = {item.name: item for item in graph.initializer}
    weights = {
        name: numpy_helper.to_array(item)
        for name, item in constants.items()
        if name.startswith(("embeddings.", "encoder.")) and not name.endswith("position_ids")
    }
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in constants:
            weights[layer_of(node.name) + ".weight"] = numpy_helper.to_array(constants[node.input[1]]).T
    return {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}


def layer_of(node: str) -> str:
    """`/encoder/layer.0/attention/self/query/MatMul` -> `encoder.layer.0.attention.self.query`."""
    return re.sub(r"/MatMul(_\d+)?$", "", node).strip("/").replace("/", ".")
