"""How an ONNX graph stores its weights, and in which numbers it computes with them: see `PRECISIONS`.

Measured in docs/benchmarks.md. Stored in fewer bits, weights are made fp32 again when the file is loaded. In int8 the
products themselves are taken of small numbers. The scale of what goes into such a product is taken over all that is
given, so an encoder gives one text at a time, and no result ever depends on its neighbours. A model that was trained
for int8 has learned these scales (`static8`): its texts can share a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .onnx_graph import MICROSOFT

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

WEIGHT_LEVELS = 63
"""Of weights with learned activation scales: 7 bits, so that two products never overflow the 16 of AVX2."""
LARGE = 16_384
"""Numbers of a matrix that is worth storing in fewer bits."""


def as_is(graph: ModelProto) -> None:
    """fp32 weights."""


def weights_as_fp16(graph: ModelProto) -> None:
    """Large weights stored as fp16."""
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for weight in large_weights(graph):
        half = numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), f"{weight.name}.fp16")
        casts.append(helper.make_node("Cast", [half.name], [weight.name], to=TensorProto.FLOAT))
        replace_weight(graph, weight, [half])
    replace_nodes(graph, [*casts, *graph.graph.node])


def weights_as_int8(graph: ModelProto) -> None:
    """Large weights stored as int8 with a scale for each output (of a table of words: for each word)."""
    from onnx import TensorProto, helper, numpy_helper

    gathered = {node.input[0] for node in graph.graph.node if node.op_type == "Gather"}
    tables = gathered - {name for node in graph.graph.node if node.op_type != "Gather" for name in node.input}
    stored, widened = [], []
    for weight in large_weights(graph):
        values, name = numpy_helper.to_array(weight), weight.name
        stored.append(name)
        of_rows = name in tables
        scales = np.abs(values).max(axis=int(of_rows)) / 127
        scales = np.where(scales > 0, scales, 1).astype(np.float32)
        scales = scales[:, None] if of_rows else scales
        whole = np.rint(values / scales).astype(np.int8)
        parts = {f"{name}.int8": whole, f"{name}.scale": scales}
        replace_weight(graph, weight, [numpy_helper.from_array(part, key) for key, part in parts.items()])
        if not of_rows:  # folded when the file is loaded
            widened.append(helper.make_node("Cast", [f"{name}.int8"], [f"{name}.wide"], to=TensorProto.FLOAT))
            widened.append(helper.make_node("Mul", [f"{name}.wide", f"{name}.scale"], [name]))
    rest = (rows_of_table(node) if tables & set(node.input[:1]) & {*stored} else [node] for node in graph.graph.node)
    replace_nodes(graph, [*widened, *chain.from_iterable(rest)])


def rows_of_table(node: Any) -> Iterator[Any]:
    """The wanted words of a table in int8: only these are made fp32."""
    from onnx import TensorProto, helper

    (table, ids), [result] = node.input, node.output
    yield helper.make_node("Gather", [f"{table}.int8", ids], [f"{result}.int8"])
    yield helper.make_node("Cast", [f"{result}.int8"], [f"{result}.wide"], to=TensorProto.FLOAT)
    yield helper.make_node("Gather", [f"{table}.scale", ids], [f"{result}.scale"])
    yield helper.make_node("Mul", [f"{result}.wide", f"{result}.scale"], [result])


def computed_in_int8(graph: ModelProto) -> None:
    """Weights stored as int8, and the products with them taken in int8.

    Processors without VNNI add two products of 8 bits in 16, which may overflow. Such a processor was measured: it
    loses no more than with 7 bits, where nothing can.
    """
    weights_as_int8(graph)
    stored = {item.name for item in graph.graph.initializer}
    replace_nodes(graph, chain.from_iterable(in_int8(node, stored) for node in graph.graph.node))
    keep_only(graph, [output.name for output in graph.graph.output])


def in_int8(node: Any, stored: Collection[str]) -> Iterator[Any]:
    """A product with a stored weight in int8; any other node as it is."""
    from onnx import helper

    weight = node.input[1] if len(node.input) > 1 else ""
    if node.op_type not in ("MatMul", "Attention") or f"{weight}.int8" not in stored:
        yield node
        return
    given, (small, scale) = node.input[0], (f"{weight}.int8", f"{weight}.scale")
    [result] = node.output
    if node.op_type == "MatMul":
        yield helper.make_node("DynamicQuantizeMatMul", [given, small, scale], [result], domain=MICROSOFT)
        return
    parts = [f"{result}.{part}" for part in ("given", "given_scale", "given_zero")]
    bias, mask = node.input[2:4]
    yield helper.make_node("DynamicQuantizeLinear", [given], parts)
    whole, own_scale, zero = parts
    inputs = [whole, small, bias, own_scale, scale, mask, zero]
    attended = helper.make_node("QAttention", inputs, [result], domain=MICROSOFT)
    attended.attribute.extend(node.attribute)
    yield attended


def computed_in_static_int8(graph: ModelProto, ranges: Mapping[str, Sequence[float]]) -> None:
    """Products in int8 with learned input ranges (lowest and highest by place) and weights of 7 bits."""
    weights = {item.name: item for item in graph.graph.initializer}
    nodes: list[Any] = []
    for node in list(graph.graph.node):
        name = node.input[1] if len(node.input) > 1 else ""
        place = name.removesuffix(".weight")
        if node.op_type in ("MatMul", "Attention") and place in ranges:
            nodes += in_static_int8(graph, node, weights[name], *ranges[place])
        else:
            nodes.append(node)
    replace_nodes(graph, nodes)
    weights_as_int8(graph)
    keep_only(graph, [output.name for output in graph.graph.output])


def in_static_int8(graph: ModelProto, node: Any, weight: TensorProto, low: float, high: float) -> Iterator[Any]:
    """One product with a constant scale and zero for its input."""
    from onnx import helper, numpy_helper

    values, name, [result] = numpy_helper.to_array(weight), weight.name, node.output
    scales = np.maximum(np.abs(values).max(axis=0), 1e-12).astype(np.float32) / WEIGHT_LEVELS
    scale = np.float32((high - low) / 255)
    parts = {
        f"{name}.int8": np.rint(values / scales).astype(np.int8),
        f"{name}.scale": scales.astype(np.float32),
        f"{name}.given_scale": np.asarray(scale),
        f"{name}.given_zero": np.asarray(np.rint(-low / scale), np.uint8),
    }
    replace_weight(graph, weight, [numpy_helper.from_array(part, key) for key, part in parts.items()])
    small, own_scale, given_scale, given_zero = parts
    given = f"{result}.given"
    yield helper.make_node("QuantizeLinear", [node.input[0], given_scale, given_zero], [given])
    if node.op_type == "MatMul":
        inputs = [given, small, given_scale, own_scale, given_zero]
        yield helper.make_node("MatMulIntegerToFloat", inputs, [result], domain=MICROSOFT)
        return
    bias, mask = node.input[2:4]
    inputs = [given, small, bias, given_scale, own_scale, mask, given_zero]
    attended = helper.make_node("QAttention", inputs, [result], domain=MICROSOFT)
    attended.attribute.extend(node.attribute)
    yield attended


PRECISIONS: dict[str, Callable[[ModelProto], None]] = {
    "fp32": as_is,
    "weights16": weights_as_fp16,
    "weights8": weights_as_int8,
    "mixed": weights_as_int8,
    "int8": computed_in_int8,
}
"""What is done to the graph of passages. With `mixed`, questions get a graph of their own: see `export`."""


def keep_only(graph: ModelProto, outputs: Collection[str]) -> None:
    """Leave out whatever these outputs do not need."""
    needed, nodes = set(outputs), []
    for node in reversed(graph.graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            nodes.append(node)
    replace_nodes(graph, reversed(nodes))
    for items, names in ((graph.graph.output, outputs), (graph.graph.initializer, needed)):
        kept = [item for item in items if item.name in names]
        del items[:]
        items.extend(kept)


def large_weights(graph: ModelProto) -> list[TensorProto]:
    """Matrices worth storing in fewer bits."""
    matrices = (item for item in graph.graph.initializer if len(item.dims) == 2 and item.data_type == item.FLOAT)
    return [item for item in matrices if item.dims[0] * item.dims[1] > LARGE]


def replace_weight(graph: ModelProto, weight: TensorProto, stored: list[TensorProto]) -> None:
    """Put other constants in the place of one."""
    graph.graph.initializer.remove(weight)
    graph.graph.initializer.extend(stored)


def replace_nodes(graph: ModelProto, nodes: Iterable[Any]) -> None:
    """Put other nodes in the place of all."""
    fresh = list(nodes)
    del graph.graph.node[:]
    graph.graph.node.extend(fresh)
