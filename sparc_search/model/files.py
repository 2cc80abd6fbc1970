"""A model folder: `config.json`, `model.safetensors` (fp16, the truth), ONNX files, `tokenizer.json`, `card.json`.

A model whose question side was tuned has `questions.safetensors` too: what questions go through in the place of the
weights of the same names. Its passages are those of the model it was tuned from, and so is its fingerprint.

The card lists the sha256 of every other file; a file that does not match is an error, never random weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import ModelDamaged, ModelNotFound
from .config import SparcConfig
from .tokenizer import WordPieces

CARD = "card.json"
WEIGHTS = "model.safetensors"
ONNX = "model.onnx"
RANGES = "ranges.json"
"""What training for int8 learned: lowest and highest input of each product."""
QUESTIONS = "questions.onnx"
"""Questions alone, quicker; a model need not have it."""
TUNED = "questions.safetensors"
"""Weights of a tuned question side (fp16), those that differ from the passages'."""
PRECISION = "precision"
"""Key of the card: how the ONNX file computes."""
STATIC = "static8"
"""A precision: int8 throughout, with scales that training learned."""
_REMEDIES = {
    WEIGHTS: "pip install sparc-search-weights of the same version, or install from a checkout",
    **dict.fromkeys((ONNX, QUESTIONS), "sparc-search model export DIR writes model.onnx"),
}
PARTS = ("config.json", "tokenizer.json", WEIGHTS, TUNED, ONNX, QUESTIONS, RANGES)


@dataclass(frozen=True)
class ModelFolder:
    """A folder that holds a model, checked when it is opened."""

    path: Path

    @cached_property
    def card(self) -> dict[str, Any]:
        """What is known of the model: base, data, figures, licence, hashes."""
        return read_card(self.path)

    @cached_property
    def config(self) -> SparcConfig:
        """Its shape."""
        return SparcConfig.load(self.path)

    @cached_property
    def pieces(self) -> WordPieces:
        """Its tokenizer."""
        return WordPieces.load(self.path)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides what passages become, but for float noise between its two forms."""
        return self._hash_of("config.json", "tokenizer.json", WEIGHTS)

    @property
    def tuned(self) -> str:
        """Hash of what decides the results of questions, if their side was tuned; else nothing."""
        return self._hash_of("config.json", "tokenizer.json", WEIGHTS, TUNED) if TUNED in self.card["sha256"] else ""

    def _hash_of(self, *names: str) -> str:
        joined = "".join(self.card["sha256"].get(name, "") for name in names)
        return hashlib.sha256(joined.encode()).hexdigest()[:16]

    def file(self, name: str) -> Path:
        """The path of one of its files, after its hash was checked."""
        path = self.path / name
        if name == WEIGHTS and not path.is_file() and self.path == default_folder():
            path = _weights_apart() or path
        wanted = self.card["sha256"].get(name)
        if not path.is_file() or wanted is None:
            raise ModelNotFound(f"the model in {self.path} has no {name}", _REMEDIES.get(name, "install it again"))
        found = sha256_of(path)
        if found != wanted:
            raise ModelDamaged(f"{path} is damaged: sha256 {found[:12]}… instead of {wanted[:12]}…", "install it again")
        return path


def open_model(name: str) -> ModelFolder:
    """The model in a folder, or the one that comes with the package (`default`)."""
    path = default_folder() if name == "default" else Path(name)
    if not (path / CARD).is_file():
        raise ModelNotFound(
            f"no model in {path}", "name a folder that `sparc-search train` or `tune` wrote, or `default`"
        )
    folder = ModelFolder(path)
    for part in ("config.json", "tokenizer.json"):
        folder.file(part)
    return folder


def default_folder() -> Path:
    """Where the package keeps its model."""
    return Path(__file__).parent / "default"


def _weights_apart() -> Path | None:
    """The default model's weights where they are a distribution of their own."""
    found = importlib.util.find_spec("sparc_search_weights")
    return Path(found.origin).parent / WEIGHTS if found and found.origin else None


def write_card(folder: Path, card: dict[str, Any]) -> None:
    """Write the card with the hashes of the files that are there."""
    hashes = {name: sha256_of(folder / name) for name in PARTS if (folder / name).is_file()}
    text = json.dumps({**card, "sha256": hashes}, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CARD).write_text(text + "\n", "utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    """Read the card."""
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_text("utf-8"))
        card["sha256"].get("")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelDamaged(f"{folder / CARD} is not a model card: {error}", "install the model again") from error
    return card


def sha256_of(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
