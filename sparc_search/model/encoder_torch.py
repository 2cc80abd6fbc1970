"""The `torch` encoder: training's own network, for GPUs and for exactness. `SparcModel` is its public face."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtra, ModelDamaged
from .config import SparcConfig
from .encoding import NetworkEncoder, Outputs
from .files import ONNX, QUESTIONS, RANGES, TUNED, WEIGHTS, ModelFolder, open_model, read_card, write_card
from .tokenizer import WordPieces

if TYPE_CHECKING:
    import torch

    from .network import SparcNetwork


class SparcModel:
    """A network with its tokenizer and shape: what training makes and a folder holds."""

    def __init__(self, network: SparcNetwork, pieces: WordPieces) -> None:
        self.network, self.pieces = network, pieces

    @property
    def config(self) -> SparcConfig:
        """The shape."""
        return self.network.config

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> SparcModel:
        """Load a model folder; every key, shape and hash must be right."""
        return cls._loaded(open_model(str(folder)), WEIGHTS)

    @classmethod
    def question_side(cls, folder: str | Path) -> SparcModel:
        """The same model as questions see it: with the weights of its tuned question side, if it has one."""
        model = open_model(str(folder))
        return cls._loaded(model, WEIGHTS, *([TUNED] if model.tuned else []))

    @classmethod
    def _loaded(cls, model: ModelFolder, *names: str) -> SparcModel:
        weights = {key: value for name in names for key, value in load_tensors(model.file(name)).items()}
        network = new_network(model.config)
        load_strictly(network, weights, model.path / names[-1])
        return cls(network.eval(), model.pieces)

    def save_pretrained(
        self,
        folder: str | Path,
        card: dict[str, Any] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        """Write config, tokenizer, fp16 weights, learned ranges and a card with their hashes; remove ONNX files."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        for older in (ONNX, QUESTIONS, RANGES, TUNED):
            (path / older).unlink(missing_ok=True)
        save_tensors(path / WEIGHTS, self.network.state_dict())
        self.config.save(path)
        self.pieces.save(path)
        if ranges:
            (path / RANGES).write_text(json.dumps(ranges, indent=1, sort_keys=True) + "\n", "utf-8")
        write_card(path, card or {})


def new_network(config: SparcConfig) -> SparcNetwork:
    """A network of this shape with weights still to be loaded."""
    require_torch()
    from .network import SparcNetwork

    return SparcNetwork.from_body(config)


def load_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Tensors of a safetensors file."""
    require_torch()
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelDamaged(f"{path} is not a safetensors file: {error}", "get the model again") from error


def save_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors as fp16."""
    import torch
    from safetensors.torch import save

    half = {name: value.detach().to("cpu", torch.float16).contiguous() for name, value in tensors.items()}
    path.write_bytes(save(half))  # `save_file` would hide it from other users


def load_strictly(network: Any, weights: dict[str, torch.Tensor], source: Path) -> None:
    """Load weights; a missing, unknown or misshapen one is an error."""
    try:
        network.load_state_dict({name: value.float() for name, value in weights.items()}, strict=True)
    except RuntimeError as error:
        raise ModelDamaged(f"{source} does not fit this model: {error}", "get the model again") from error


def require_torch() -> None:
    """Say which extra is missing instead of an ImportError."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("the torch encoder and training", "torch") from error
    del torch, transformers


class TorchNetwork:
    """An `encoding.Network` over torch: passages or questions."""

    def __init__(self, network: SparcNetwork, device: str, questions: bool) -> None:
        self.network, self.device, self.questions = network, device, questions

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        """Run the network on a padded batch."""
        import torch

        with torch.inference_mode():
            arguments = torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)
            outputs = self.question_outputs(*arguments) if self.questions else self.passage_outputs(*arguments)
            return {name: value.float().cpu().numpy() for name, value in outputs.items()}

    def passage_outputs(self, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        """Named outputs of passages."""
        states = self.network.passages(ids, mask)._asdict()
        attention: dict[str, torch.Tensor] = states.pop("attention")
        return {**states, **attention}

    def question_outputs(self, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        """Named outputs of questions."""
        states = self.network.questions(ids, mask)
        named = {"question_start": states.start, "question_end": states.end, "question_pooled": states.pooled}
        return {**named, **{f"question_{name}": value for name, value in states.weights.items()}}


def encoder_of(
    model: SparcModel,
    fingerprint: str,
    device: str = "cpu",
    card: dict[str, Any] | None = None,
    questions: SparcModel | None = None,
) -> NetworkEncoder:
    """An encoder over a model in memory; questions go through another, if their side was tuned."""
    network = model.network.to(device).eval()
    asked = questions.network.to(device).eval() if questions else network
    encoder = NetworkEncoder(
        model.config,
        model.pieces,
        TorchNetwork(network, device, questions=False),
        TorchNetwork(asked, device, questions=True),
        fingerprint,
        card=card,
    )
    encoder.arithmetic = "torch fp32"
    if questions:
        encoder.untuned_questions = TorchNetwork(network, device, questions=True)
    return encoder


def open_encoder(model: str = "default", *, threads: int = 0, device: str | None = None) -> NetworkEncoder:
    """The model by PyTorch, on a GPU if there is one (extra `torch`)."""
    require_torch()
    import torch

    if threads:
        torch.set_num_threads(threads)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    folder = open_model(model)
    questions = SparcModel.question_side(model) if folder.tuned else None
    encoder = encoder_of(SparcModel.from_pretrained(model), folder.fingerprint, chosen, folder.card, questions)
    encoder.tuned = folder.tuned
    return encoder


def copy_with(folder: ModelFolder, target: Path, config: SparcConfig) -> None:
    """The same model in another folder with another config (thresholds, pruning); hashes are written anew."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (WEIGHTS, TUNED, "tokenizer.json", ONNX, QUESTIONS, RANGES):
        if (folder.path / name).is_file() and folder.path != target:
            shutil.copyfile(folder.path / name, target / name)
    config.save(target)
    write_card(target, {key: value for key, value in read_card(folder.path).items() if key != "sha256"})
