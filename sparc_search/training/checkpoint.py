"""Checkpoints from which a run goes on as if it had never stopped. Tensors are safetensors, the rest is JSON.

A checkpoint is a folder, written beside its place and renamed into it, so a kill leaves the previous one whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..errors import ModelDamaged

Tensors = dict[str, Tensor]


def write_checkpoint(folder: Path, tensors: Mapping[str, Tensors], state: Mapping[str, Any]) -> None:
    """Replace the checkpoint at `folder`; `tensors` are files by name."""
    recover(folder)
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, values in tensors.items():
        contiguous = {key: value.detach().contiguous() for key, value in values.items()}
        save_file(contiguous, fresh / f"{name}.safetensors")
    (fresh / "state.part").write_text(json.dumps(state), "utf-8")
    for path in fresh.iterdir():
        sync(path)
    (fresh / "state.part").rename(fresh / "state.json")  # now it is whole
    put_in_place(fresh, folder)


def put_in_place(fresh: Path, folder: Path) -> None:
    """Let a folder that is whole and durable take the place of another."""
    sync(fresh)
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover(folder: Path) -> None:
    """After a kill between the two renames the newest whole checkpoint takes its place, before anything is removed."""
    if not folder.exists():
        for place in (folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")):
            if (place / "state.json").exists():
                place.rename(folder)
                return


def read_checkpoint(folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
    """The checkpoint at `folder`, or the one before it if a kill came between the two renames."""
    for place in (folder, folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")):
        if (place / "state.json").exists():
            try:
                state = json.loads((place / "state.json").read_text("utf-8"))
                return {path.stem: load_file(path) for path in place.glob("*.safetensors")}, state
            except Exception as error:
                raise ModelDamaged(
                    f"the checkpoint in {place} cannot be read: {error}", "start without --resume"
                ) from error
    raise ModelDamaged(f"there is no checkpoint in {folder}", "start without --resume")


def sync(path: Path) -> None:
    """Make a file or folder durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def optimiser_tensors(optimiser: torch.optim.Optimizer, names: Mapping[int, str]) -> Tensors:
    """The optimiser's moments, under the names of their parameters."""
    return {
        f"{names[id(parameter)]}|{key}": value
        for parameter, moments in optimiser.state.items()
        for key, value in moments.items()
    }


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: Tensors, parameters: Mapping[str, Tensor]) -> None:
    """Put saved moments back."""
    for key, value in tensors.items():
        name, moment = key.split("|")
        parameter = parameters[name]
        optimiser.state[parameter][moment] = value.to(parameter.device)  # "step" too: a fused optimiser has it there
