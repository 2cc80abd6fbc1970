"""A recipe: everything that makes a model, in one file of TOML, run stage by stage by the commands themselves.

    base = "e5-small-v2"

    [data]                            # files in the data folder, and how often an epoch sees them
    "squad/train-v1.1.json" = 1.0

    [reader]                          # optional; options of `evaluate train-reader`: the teacher
    epochs = 2

    [teacher]                         # optional; options of `evaluate teach`
    share = 0.5

    [[stretch]]                       # options of `train`; each goes on from the weights of the one before
    name = "taught"
    teacher = true
    epochs = 1

A stage that is done is not done again, so a recipe that was stopped goes on where it was.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sparc_search.errors import UsageError

from .evaluate_reader import train_reader
from .evaluate_teach import teach
from .terminal import note
from .train import train

_TOP = {"base", "data", "reader", "teacher", "stretch"}
_OURS = {"base", "out", "weight", "checkpoint", "resume", "recipe", "json", "device", "threads"}
"""Options that a stage gets from the recipe as a whole, or from who runs it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One command of a recipe, and the file it leaves when it is done."""

    name: str
    command: click.Command
    arguments: list[str]
    done: Path
    checkpoint: Path | None = None


def run_recipe(path: Path, data: Path, out: Path, base: str | None, common: Iterable[str]) -> None:
    """Run every stage that is not done yet."""
    stages = stages_of(read_recipe(path), path, data, out, base)
    out.mkdir(parents=True, exist_ok=True)
    for number, stage in enumerate(stages, 1):
        if stage.done.exists():
            note(f"stage {number} of {len(stages)}, {stage.name}: done before")
            continue
        note(f"stage {number} of {len(stages)}, {stage.name}")
        resume = ["--resume"] if stage.checkpoint and stage.checkpoint.exists() else []
        accepted = [part for part in common if stage.command is train or not part.startswith("--device")]
        stage.command.main([*stage.arguments, *resume, *accepted], standalone_mode=False)
        if not stage.done.exists():
            return  # stopped by a signal, with a checkpoint


def read_recipe(path: Path) -> dict[str, Any]:
    """Read a recipe; whatever it says that nobody would obey is an error."""
    try:
        recipe = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    refuse_unknown(path, "the recipe", recipe, _TOP)
    if not isinstance(recipe.get("data"), dict) or not recipe.get("stretch"):
        raise UsageError(f"{path} needs a table [data] and at least one [[stretch]]", "see recipes/default.toml")
    refuse_unknown(path, "[reader]", recipe.get("reader", {}), options_of(train_reader) | {"data"})
    refuse_unknown(path, "[teacher]", recipe.get("teacher", {}), options_of(teach))
    for stretch in recipe["stretch"]:
        refuse_unknown(path, f"stretch {stretch.get('name')!r}", stretch, options_of(train) | {"name"})
    names = [stretch.get("name") for stretch in recipe["stretch"]]
    if None in names or len(set(names)) < len(names):
        raise UsageError(f"{path}: every stretch needs a name of its own")
    if any(stretch.get("teacher") is True for stretch in recipe["stretch"]) and "reader" not in recipe:
        raise UsageError(f"{path}: a stretch wants a teacher, but there is no [reader]", "add one, or name a file")
    return recipe


def refuse_unknown(path: Path, where: str, found: Mapping[str, Any], known: set[str]) -> None:
    """An unknown key, with the key that was probably meant."""
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            remedy = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(known))}"
            raise UsageError(f"{path}: {where} has an unknown key {key!r}", remedy)


def options_of(command: click.Command) -> set[str]:
    """Names of a command's options, without dashes, that a recipe may set."""
    return {option.opts[0].removeprefix("--") for option in command.params if isinstance(option, click.Option)} - _OURS


def stages_of(recipe: dict[str, Any], path: Path, data: Path, out: Path, base: str | None) -> list[Stage]:
    """The commands of a recipe, in order."""
    start = base or recipe.get("base")
    if not start:
        raise UsageError(f"{path} names no base", "write base = … into it, or give --base")
    stages = []
    files = [str(data / name) for name in recipe["data"]]
    weighed = data_arguments(data, recipe["data"])
    teacher = out / "teacher.npz"
    if "reader" in recipe:
        options = dict(recipe["reader"])
        of_reader = data_arguments(data, options.pop("data", recipe["data"]))
        folder = out / "reader"
        arguments = [*of_reader, "--base", start, "--out", str(folder), *arguments_of(options)]
        stages.append(Stage("reader", train_reader, arguments, folder / "reader.json", folder / "checkpoint"))
        asked = arguments_of(recipe.get("teacher", {}))
        stages.append(Stage("teacher", teach, [str(folder), *files, "--out", str(teacher), *asked], teacher))
    last = recipe["stretch"][-1]
    for stretch in recipe["stretch"]:
        options = {name: value for name, value in stretch.items() if name != "name"}
        if options.get("teacher") is True:
            options["teacher"] = str(teacher)
        folder = out / "model" if stretch is last else out / stretch["name"]
        arguments = [*weighed, "--base", start, "--out", str(folder), *arguments_of(options)]
        stages.append(Stage(stretch["name"], train, arguments, folder / "training.json", folder / "checkpoint"))
        start = str(folder)
    return stages


def data_arguments(folder: Path, weights: Mapping[str, float]) -> list[str]:
    """Files and their weights, as arguments."""
    return [
        *(str(folder / name) for name in weights),
        *(part for weight in weights.values() for part in ("--weight", str(weight))),
    ]


def arguments_of(options: Mapping[str, Any]) -> list[str]:
    """Options as arguments; a flag that is false is left out."""
    arguments: list[str] = []
    for name, value in options.items():
        if value is not False:
            arguments += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return arguments
