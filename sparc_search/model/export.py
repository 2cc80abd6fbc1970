"""The ONNX file of a model: one graph for passages and questions, its weights stored in fewer bits.

BERT bodies get the hand-written, fused graph of `onnx_graph`; other bodies are traced by torch, which is slower.
Ways to store the weights were measured (docs/benchmarks.md): see `PRECISIONS`. All but `int8` compute in fp32; `int8`
takes the scale of its activations over all it is given, so the encoder gives it one text at a time. Either way a
result never depends on its neighbours.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtra, UsageError
from .encoder_torch import SparcModel, require_torch
from .encoding import PASSAGE_OUTPUTS, QUESTION_OUTPUTS, sparse_names
from .files import ONNX, PRECISION, read_card, write_card
from .onnx_graph import build_graph

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto


def output_names(model: SparcModel) -> list[str]:
    """All outputs of the graph, in order."""
    names = sparse_names(model.config)
    return [*PASSAGE_OUTPUTS, *names, *QUESTION_OUTPUTS, *(f"question_{name}" for name in names)]


def export(folder: Path, precision: str = "weights8") -> Path:
    """Write `model.onnx` into a model folder and its hash into the card."""
    if precision not in PRECISIONS:
        raise UsageError(f"no precision {precision!r}", f"known are: {', '.join(PRECISIONS)}")
    require_onnx()
    model = SparcModel.from_pretrained(folder)
    graph = graph_of(model)
    PRECISIONS[precision](graph)
    save(graph, folder / ONNX)
    card = {key: value for key, value in read_card(folder).items() if key != "sha256"}
    write_card(folder, {**card, PRECISION: precision})
    return folder / ONNX


def require_onnx() -> None:
    """Say which extra is missing instead of an ImportError."""
    require_torch()
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra("writing an ONNX file", "torch") from error
    del onnx


def graph_of(model: SparcModel) -> ModelProto:
    """The model as a graph with fp32 weights."""
    body = model.config.body
    if body["model_type"] == "bert" and body.get("hidden_act", "gelu") == "gelu":
        weights = {name: value.detach().float().numpy() for name, value in model.network.state_dict().items()}
        return build_graph(model.config, weights)
    import onnx

    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "raw.onnx"
        trace(model, raw)
        return onnx.load(str(raw))


def trace(model: SparcModel, target: Path) -> None:
    """Export the network with free batch and length."""
    import torch

    class BothFaces(torch.nn.Module):
        """Passage and question outputs of one pass through the body, in the order of `output_names`."""

        def __init__(self) -> None:
            super().__init__()
            self.network = model.network

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
            states = self.network.states(ids, mask)
            passages = self.network.passage_heads(states, ids, mask)
            questions = self.network.question_heads(states, ids, mask)
            return (*passages[:-1], *passages.attention.values(), *questions[:-1], *questions.weights.values())

    ids = torch.full((2, 16), 1000)
    longest = model.config.window + model.config.title_window + 1
    dynamic = {0: torch.export.Dim("batch", max=4096), 1: torch.export.Dim("length", max=longest)}
    with torch.no_grad():
        torch.onnx.export(
            BothFaces().eval(),
            (ids, torch.ones_like(ids)),
            str(target),
            input_names=["ids", "mask"],
            output_names=output_names(model),
            dynamic_shapes={"ids": dynamic, "mask": dynamic},
            opset_version=18,
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def save(graph: ModelProto, target: Path) -> None:
    """Write the file in one go."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(graph.SerializeToString())
    fresh.replace(target)


def as_is(graph: ModelProto) -> None:
    """fp32 weights."""


def weights_as_fp16(graph: ModelProto) -> None:
    """Large weights stored as fp16 and cast back when the file is loaded."""
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for weight in large_weights(graph):
        half = numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), weight.name + ".fp16")
        casts.append(helper.make_node("Cast", [half.name], [weight.name], to=TensorProto.FLOAT))
        replace_weight(graph, weight, [half])
    prepend(graph, casts)


def weights_as_int8(graph: ModelProto) -> None:
    """Large weights stored as int8 with a scale for each output (word embeddings: each word), computed with in fp32."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = []
    for weight in large_weights(graph):
        values = numpy_helper.to_array(weight)
        axis = 0 if values.shape[0] > values.shape[1] * 8 else 1  # a table of words has its rows in front
        scales = np.abs(values).max(axis=1 - axis) / 127
        scales = np.where(scales > 0, scales, 1).astype(np.float32)
        scales = scales[:, None] if axis == 0 else scales[None]
        rows = np.rint(values / scales).astype(np.int8)
        stored, scale, wide = (f"{weight.name}.{part}" for part in ("int8", "scale", "wide"))
        nodes.append(helper.make_node("Cast", [stored], [wide], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [wide, scale], [weight.name]))  # folded when the file is loaded
        replace_weight(graph, weight, [numpy_helper.from_array(rows, stored), numpy_helper.from_array(scales, scale)])
    prepend(graph, nodes)


def computed_in_int8(graph: ModelProto) -> None:
    """Dynamic int8: the fastest; its scales are taken over the whole batch, so a batch must be one text."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "in.onnx", Path(scratch) / "out.onnx"
        save(graph, source)
        options = {"DefaultTensorType": TensorProto.FLOAT}  # it cannot see through the fused operators
        logging.disable(logging.WARNING)  # nor need it: it warns once for each of them
        # 7 bits: processors without VNNI add two products of 8 bits in 16, which overflow there and nowhere else
        try:
            quantize_dynamic(
                source, target, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8, extra_options=options
            )
        finally:
            logging.disable(logging.NOTSET)
        graph.ParseFromString(target.read_bytes())


PRECISIONS: dict[str, Callable[[ModelProto], None]] = {
    "fp32": as_is,
    "weights16": weights_as_fp16,
    "weights8": weights_as_int8,
    "int8": computed_in_int8,
}


def large_weights(graph: ModelProto) -> list[TensorProto]:
    """Matrices worth storing in fewer bits."""
    return [item for item in graph.graph.initializer if len(item.dims) == 2 and item.dims[0] * item.dims[1] > 16_384]


def replace_weight(graph: ModelProto, weight: TensorProto, stored: list[TensorProto]) -> None:
    """Put other constants in the place of one."""
    graph.graph.initializer.remove(weight)
    graph.graph.initializer.extend(stored)


def prepend(graph: ModelProto, nodes: list[Any]) -> None:
    """Nodes must stand before those that use their outputs."""
    rest = list(graph.graph.node)
    del graph.graph.node[:]
    graph.graph.node.extend([*nodes, *rest])
