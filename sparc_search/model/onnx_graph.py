"""The network of `network.py` once more, as an ONNX graph for BERT bodies, made of onnxruntime's fused operators.

Written by hand because it is small and exactly what is wanted: one attention, one GELU and two skip-layer-norm nodes a
layer, all heads in one matrix product. Inputs `ids` and `mask` (batch, length); outputs as `encoding` names them.
A test holds it against the torch network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .config import SparcConfig
from .encoding import PASSAGE_OUTPUTS, QUESTION_OUTPUTS, sparse_names

if TYPE_CHECKING:
    from onnx import ModelProto

MICROSOFT = "com.microsoft"
Weights = Mapping[str, NDArray[np.float32]]


class GraphBuilder:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """A constant under a name of its own."""
        self.constants[name] = np.asarray(value, order="C")
        return name

    def ints(self, *values: int) -> str:
        """A constant list of integers."""
        return self.constant("ints_" + "_".join(map(str, values)), np.asarray(values, np.int64))

    def number(self, value: int) -> str:
        """A constant integer without dimensions."""
        return self.constant(f"int_{value}", np.asarray(value, np.int64))

    def __call__(self, operator: str, *inputs: str, domain: str = "", to: str | None = None, **attributes: Any) -> str:
        """One node with one output."""
        return self.split(operator, inputs, [to or f"{operator}_{len(self.nodes)}"], domain, **attributes)[0]

    def split(
        self, operator: str, inputs: Sequence[str], outputs: list[str], domain: str = "", **attributes: Any
    ) -> list[str]:
        """One node with several outputs."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, list(inputs), outputs, domain=domain, **attributes))
        return outputs

    def model(self, outputs: Sequence[str]) -> ModelProto:
        """The finished graph."""
        from onnx import TensorProto, helper, numpy_helper

        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("ids", "mask")
        ]
        shown = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "sparc", inputs, shown, constants)
        operators = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=9)


def build_graph(config: SparcConfig, weights: Weights) -> ModelProto:
    """The graph of a whole SPARC model with a BERT body."""
    graph = GraphBuilder()
    states = bert_body(graph, config, weights)
    mask = cast(graph, "mask", "FLOAT")
    pooled = pooled_states(graph, states, mask)
    heads = head_outputs(graph, config, weights, states)
    columns = {n: ngram_columns(graph, mask, n, config.lowest_ngram_id) for n in config.ngrams}
    for name in sparse_names(config):
        sparse_outputs(graph, name, heads, columns[int(name.rsplit("_", 1)[1])], 1 / math.sqrt(config.sparse_size))
    factor = graph.constant("passage_factor", weights["passage_factor"])
    graph("Mul", pooled, factor, to="question_pooled")
    cls = graph("Gather", states, graph.number(0), axis=1)
    for side in ("start", "end"):
        linear(graph, cls, weights, f"question_{side}", to=f"question_{side}")
    names = sparse_names(config)
    return graph.model([*PASSAGE_OUTPUTS, *names, *QUESTION_OUTPUTS, *(f"question_{name}" for name in names)])


def cast(graph: GraphBuilder, name: str, kind: str) -> str:
    """The same as another kind of number, by ONNX's name for it."""
    from onnx import TensorProto

    [result] = graph.split("Cast", [name], [f"{name}_{kind}_{len(graph.nodes)}"], to=getattr(TensorProto, kind))
    return result


def linear(graph: GraphBuilder, states: str, weights: Weights, name: str, to: str | None = None) -> str:
    """states W^T + b."""
    matrix = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
    bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph("Add", graph("MatMul", states, matrix), bias, to=to)


def bert_body(graph: GraphBuilder, config: SparcConfig, weights: Weights) -> str:
    """Token states (batch, length, hidden)."""
    epsilon = float(config.body["layer_norm_eps"])
    states = embeddings(graph, weights, epsilon)
    mask = cast(graph, "mask", "INT32")
    for number in range(int(config.body["num_hidden_layers"])):
        states = bert_layer(graph, weights, f"body.encoder.layer.{number}", states, mask, config, epsilon)
    return states


def embeddings(graph: GraphBuilder, weights: Weights, epsilon: float) -> str:
    """Words plus positions (the one token type is added to them beforehand), normed."""
    prefix = "body.embeddings"
    words = graph("Gather", graph.constant("words", weights[f"{prefix}.word_embeddings.weight"]), "ids")
    places = weights[f"{prefix}.position_embeddings.weight"] + weights[f"{prefix}.token_type_embeddings.weight"][0]
    length = graph("Gather", graph("Shape", "ids"), graph.ints(1))
    positions = graph("Slice", graph.constant("positions", places), graph.ints(0), length, graph.ints(0))
    norm = [
        graph.constant(f"{prefix}.LayerNorm.{part}", weights[f"{prefix}.LayerNorm.{part}"])
        for part in ("weight", "bias")
    ]
    return graph("LayerNormalization", graph("Add", words, positions), *norm, axis=-1, epsilon=epsilon)


def bert_layer(
    graph: GraphBuilder, weights: Weights, layer: str, states: str, mask: str, config: SparcConfig, epsilon: float
) -> str:
    """One transformer layer: self-attention and feed-forward, each added to its input and normed."""
    parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
    matrix = np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
    attended = graph(
        "Attention",
        states,
        graph.constant(f"{layer}.qkv.weight", matrix),
        graph.constant(f"{layer}.qkv.bias", bias),
        mask,
        domain=MICROSOFT,
        num_heads=int(config.body["num_attention_heads"]),
    )
    states = skip_norm(graph, weights, f"{layer}.attention.output", attended, states, epsilon)
    inner = f"{layer}.intermediate.dense"
    product = graph("MatMul", states, graph.constant(f"{inner}.weight", weights[f"{inner}.weight"].T))
    wide = graph("BiasGelu", product, graph.constant(f"{inner}.bias", weights[f"{inner}.bias"]), domain=MICROSOFT)
    return skip_norm(graph, weights, f"{layer}.output", wide, states, epsilon)


def skip_norm(graph: GraphBuilder, weights: Weights, name: str, inner: str, skipped: str, epsilon: float) -> str:
    """LayerNorm(inner W^T + b + skipped)."""
    product = graph("MatMul", inner, graph.constant(f"{name}.weight", weights[f"{name}.dense.weight"].T))
    parts = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias", f"{name}.dense.bias")
    constants = [graph.constant(part, weights[part]) for part in parts]
    return graph("SkipLayerNormalization", product, skipped, *constants, domain=MICROSOFT, epsilon=epsilon)


def pooled_states(graph: GraphBuilder, states: str, mask: str) -> str:
    """The mean over real tokens, of unit length."""
    weights = graph("Unsqueeze", mask, graph.ints(2))
    total = graph("ReduceSum", graph("Mul", states, weights), graph.ints(1), keepdims=0)
    mean = graph("Div", total, graph("ReduceSum", weights, graph.ints(1), keepdims=0))
    return graph("LpNormalization", mean, to="pooled", axis=-1, p=2)


def head_outputs(graph: GraphBuilder, config: SparcConfig, weights: Weights, states: str) -> dict[str, str]:
    """All linear heads over the token states in one product; names of the parts."""
    plain = ["start", "end", "span_start", "span_end", "filter"]
    pairs = [f"sparse.{name}.{part}" for name in sparse_names(config) for part in ("query", "key")]
    names = [*plain, *pairs]
    matrix = np.concatenate([weights[f"{name}.weight"].T for name in names], axis=1)
    bias = np.concatenate([weights[f"{name}.bias"] for name in names])
    product = graph("MatMul", states, graph.constant("heads.weight", matrix))
    added = graph("Add", product, graph.constant("heads.bias", bias))
    sizes = graph.constant("heads.sizes", np.asarray([len(weights[f"{name}.bias"]) for name in names], np.int64))
    return dict(zip(names, graph.split("Split", [added, sizes], names, axis=-1), strict=True))


def ngram_columns(graph: GraphBuilder, mask: str, n: int, lowest: int) -> str:
    """1 where a whole n-gram of ordinary words starts: (batch, length)."""
    word = cast(graph, graph("GreaterOrEqual", "ids", graph.number(lowest)), "FLOAT")
    columns = graph("Mul", word, mask)
    length = graph("Gather", graph("Shape", "ids"), graph.ints(1))
    for shift in range(1, n):
        behind = graph("Slice", word, graph.ints(shift), length, graph.ints(1))
        columns = graph("Mul", columns, graph("Pad", behind, graph.ints(0, 0, 0, shift)))
    return columns


def sparse_outputs(graph: GraphBuilder, name: str, heads: Mapping[str, str], columns: str, scale: float) -> None:
    """ReLU(Q K^T / sqrt(d)) of passages, and its [CLS] row for questions, masked."""
    factor = graph.constant(f"scale_{name}", np.asarray(scale, np.float32))
    keys = graph("Transpose", heads[f"sparse.{name}.key"], perm=[0, 2, 1])
    products = graph("Mul", graph("MatMul", heads[f"sparse.{name}.query"], keys), factor)
    columns = graph("Unsqueeze", columns, graph.ints(1))
    rectified = graph("Mul", graph("Relu", products), columns)
    graph("Mul", rectified, off_diagonal(graph), to=name)
    graph("Gather", rectified, graph.number(0), to=f"question_{name}", axis=1)


def off_diagonal(graph: GraphBuilder) -> str:
    """0 on the diagonal, 1 elsewhere: (length, length)."""
    length = graph("Squeeze", graph("Gather", graph("Shape", "ids"), graph.ints(1)))
    places = graph("Range", graph.number(0), length, graph.number(1))
    same = graph("Equal", graph("Unsqueeze", places, graph.ints(0)), graph("Unsqueeze", places, graph.ints(1)))
    return cast(graph, graph("Not", same), "FLOAT")
