"""The tuned model's folder: the passages' side as it was, the question side that has learned, and its card."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from ..errors import UsageError
from ..model.encoder_torch import load_tensors, save_tensors
from ..model.export import export_questions
from ..model.files import CARD, ONNX, PARTS, PRECISION, QUESTIONS, TUNED, WEIGHTS, ModelFolder, write_card
from ..model.network import SparcNetwork
from ..training.checkpoint import put_in_place, sync

_OF_THE_BASE = ("confidence", "measured", "sha256")
"""What the card of the model before says, and the tuned one must not."""


def refuse_place(out: Path, base: ModelFolder) -> None:
    """`UsageError` if something stands at `out` that a tuned model must not replace."""
    if not out.exists():
        return
    if out.resolve() == base.path.resolve():
        raise UsageError(f"{out} is the model that is to be tuned", "name another folder with --out")
    if not (out.is_dir() and (out / TUNED).is_file() and (out / CARD).is_file()) and (
        out.is_file() or any(out.iterdir())
    ):
        raise UsageError(f"{out} is there, and is no tuned model", "name another folder with --out")


def write_tuned(base: ModelFolder, network: SparcNetwork, out: Path, card: dict[str, Any]) -> ModelFolder:
    """Write the folder beside its place and put it there when it is whole: a kill leaves what was there before."""
    fresh = out.with_name(out.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name in PARTS:
        if name in base.card["sha256"] and name not in (TUNED, QUESTIONS):
            shutil.copyfile(base.file(name), fresh / name)
    save_tensors(fresh / TUNED, learned(network, base))
    whole = {key: value for key, value in base.card.items() if key not in _OF_THE_BASE} | card
    write_card(fresh, whole)
    if ONNX in base.card["sha256"]:
        export_questions(fresh, str(base.card.get(PRECISION, "mixed")))
        write_card(fresh, whole)
    for path in fresh.iterdir():
        sync(path)
    put_in_place(fresh, out)
    return ModelFolder(out)


def learned(network: SparcNetwork, base: ModelFolder) -> dict[str, torch.Tensor]:
    """The weights of the question side that differ from the passages'."""
    before = load_tensors(base.file(WEIGHTS))
    now = {name: value.detach().half() for name, value in network.state_dict().items()}
    return {name: value for name, value in now.items() if not torch.equal(value, before[name].half())}
