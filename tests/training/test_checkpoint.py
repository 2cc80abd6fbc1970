"""A kill at any moment leaves a whole checkpoint: the new one or the one before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sparc_search.errors import ModelDamaged
from sparc_search.training import checkpoint
from sparc_search.training.checkpoint import load_optimiser, optimiser_tensors, read_checkpoint, write_checkpoint


class Killed(BaseException):
    """No code catches this, as none survives a kill."""


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Die before the `number`-th call that touches the disk; of files that are written, half is there."""
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return calls == number + 1

    def dying(function: Callable[..., Any], half: bool = False) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            if count():
                if half:
                    path = next(argument for argument in arguments if isinstance(argument, Path))
                    path.write_bytes(b'{"step"')
                raise Killed
            return function(*arguments, **options)

        return run

    monkeypatch.setattr(Path, "rename", dying(Path.rename))
    monkeypatch.setattr(Path, "write_text", dying(Path.write_text, half=True))
    monkeypatch.setattr(checkpoint.shutil, "rmtree", dying(checkpoint.shutil.rmtree))
    monkeypatch.setattr(checkpoint, "save_file", dying(checkpoint.save_file, half=True))
    monkeypatch.setattr(checkpoint, "sync", dying(lambda path: None))


def write(folder: Path, step: int) -> None:
    write_checkpoint(folder, {"weights": {"a": torch.full((3,), float(step))}}, {"step": step})


def step_of(folder: Path) -> int:
    tensors, state = read_checkpoint(folder)
    assert tensors["weights"]["a"].tolist() == [float(state["step"])] * 3  # both parts of one checkpoint
    return int(state["step"])


def killed_write(monkeypatch: pytest.MonkeyPatch, folder: Path, step: int, at: int) -> bool:
    """Whether the write died."""
    with monkeypatch.context() as patch:
        kill_at(patch, at)
        try:
            write(folder, step)
        except Killed:
            return True
    return False


def test_round_trip(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        write(tmp_path / "here", step)
        assert step_of(tmp_path / "here") == step
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_killed_anywhere_and_again_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "sync", lambda path: None)  # the power stays on here; a disk is slow
    deaths = 0
    for first in range(12):
        for second in range(12):
            folder = tmp_path / f"{first}-{second}" / "here"
            write(folder, 1)
            deaths += killed_write(monkeypatch, folder, 2, first)
            after_one = step_of(folder)
            assert after_one in (1, 2)
            killed_write(monkeypatch, folder, 3, second)
            assert step_of(folder) in (after_one, 3)  # never a step back
            write(folder, 4)
            assert step_of(folder) == 4
    assert deaths > 60  # or nothing was killed


def test_killed_between_the_renames(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write(folder, 1)
    folder.rename(tmp_path / "here.old")
    write(tmp_path / "scratch", 2)
    (tmp_path / "scratch").rename(tmp_path / "here.new")
    assert step_of(folder) == 2


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(ModelDamaged, match="no checkpoint"):
        read_checkpoint(tmp_path / "here")


@pytest.mark.parametrize("name", ["state.json", "weights.safetensors"])
def test_a_damaged_one_is_an_error(tmp_path: Path, name: str) -> None:
    write(tmp_path / "here", 1)
    (tmp_path / "here" / name).write_bytes(b"{")
    with pytest.raises(ModelDamaged, match="cannot be read"):
        read_checkpoint(tmp_path / "here")


def test_an_optimiser_goes_on_as_if_nothing_had_happened() -> None:
    def start() -> tuple[dict[str, torch.nn.Parameter], torch.optim.AdamW]:
        parameters = {name: torch.nn.Parameter(torch.ones(2)) for name in ("b", "a")}
        return parameters, torch.optim.AdamW(parameters.values(), lr=0.1, fused=True)

    def step(parameters: dict[str, torch.nn.Parameter], optimiser: torch.optim.AdamW) -> None:
        loss = parameters["a"].square().sum() + (parameters["b"] * 3).square().sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    parameters, optimiser = start()
    step(parameters, optimiser)
    saved = optimiser_tensors(optimiser, {id(value): name for name, value in parameters.items()})
    assert sorted(saved) == [f"{name}|{part}" for name in ("a", "b") for part in ("exp_avg", "exp_avg_sq", "step")]
    others, other = start()
    for name, value in others.items():
        value.data.copy_(parameters[name].data)
    load_optimiser(other, {name: value.clone() for name, value in saved.items()}, others)
    for _ in range(3):
        step(parameters, optimiser)
        step(others, other)
    assert all(torch.equal(parameters[name], others[name]) for name in parameters)
