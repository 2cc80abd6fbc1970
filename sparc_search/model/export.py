"""The ONNX files of a model: a graph for passages and questions, and one that is quicker with questions alone.

BERT bodies get the hand-written, fused graph of `onnx_graph`; other bodies are traced by torch, which is slower. How
weights are stored is a matter of `onnx_precision`. By default passages are read in fp32, since they are read once and
searched for years, and questions in int8, since somebody waits for them; what was trained for int8 is best in it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra, ModelDamaged, UsageError
from .encoder_torch import SparcModel, require_torch
from .encoding import PASSAGE_OUTPUTS, QUESTION_OUTPUTS, sparse_names
from .files import ONNX, PRECISION, QUESTIONS, RANGES, STATIC, ModelFolder, open_model, read_card, write_card
from .onnx_graph import build_graph
from .onnx_precision import LARGE, PRECISIONS, computed_in_static_int8, keep_only

if TYPE_CHECKING:
    from onnx import ModelProto


def output_names(model: SparcModel) -> list[str]:
    """All outputs of the graph, in order."""
    return [*PASSAGE_OUTPUTS, *sparse_names(model.config), *question_names(model)]


def question_names(model: SparcModel) -> list[str]:
    """Those of them that questions need."""
    return [*QUESTION_OUTPUTS, *(f"question_{name}" for name in sparse_names(model.config))]


def export(folder: Path, precision: str = "mixed") -> Path:
    """Write `model.onnx`, and `questions.onnx` if it is to be, into a model folder and their hashes into the card."""
    if precision not in (*PRECISIONS, STATIC):
        raise UsageError(f"no precision {precision!r}", f"known are: {', '.join(PRECISIONS)}, {STATIC}")
    require_onnx()
    graph = graph_of(SparcModel.from_pretrained(folder))
    made_precise(graph, folder, precision)
    save(graph, folder / ONNX)
    (folder / QUESTIONS).unlink(missing_ok=True)
    if precision in ("mixed", STATIC) or open_model(str(folder)).tuned:
        export_questions(folder, precision)
    card = {key: value for key, value in read_card(folder).items() if key != "sha256"}
    write_card(folder, {**card, PRECISION: precision})
    return folder / ONNX


def export_questions(folder: Path, precision: str) -> None:
    """Write `questions.onnx` beside the `model.onnx` of this precision; the card is the caller's."""
    graph = graph_of(model := SparcModel.question_side(folder))
    made_precise(graph, folder, "int8" if precision == "mixed" else precision)
    keep_only(graph, question_names(model))
    save(beside(graph, folder / ONNX), folder / QUESTIONS)


def made_precise(graph: ModelProto, folder: Path, precision: str) -> None:
    """Store the weights, and take the products, as this precision says."""
    if precision == STATIC:
        computed_in_static_int8(graph, read_ranges(folder))
    else:
        PRECISIONS[precision](graph)


def read_ranges(folder: Path) -> dict[str, tuple[float, float]]:
    """The input ranges that training for int8 has learned."""
    if RANGES not in read_card(folder)["sha256"]:
        raise UsageError(
            f"the model in {folder} was not trained for {STATIC}", "`sparc-search train --quantise` does that"
        )
    path = ModelFolder(folder).file(RANGES)
    try:
        return {place: (float(low), float(high)) for place, (low, high) in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelDamaged(f"{path} holds no ranges: {error}", "get the model again") from error


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


def beside(graph: ModelProto, other: Path) -> ModelProto:
    """The graph with those of its large weights that stand in the other file named by their place there."""
    whole = other.read_bytes()
    for weight in graph.graph.initializer:
        if len(weight.raw_data) > LARGE and (place := whole.find(weight.raw_data)) >= 0:
            where = {"location": other.name, "offset": str(place), "length": str(len(weight.raw_data))}
            weight.ClearField("raw_data")
            weight.data_location = weight.EXTERNAL
            for key, value in where.items():
                weight.external_data.add(key=key, value=value)
    return graph


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
