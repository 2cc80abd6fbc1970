"""A tiny recipe from end to end, and recipes that say what nobody would obey."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from safetensors.torch import save_file
from tiny_model import BODY, tiny_network, tiny_pieces

from sparc_search.cli.train_recipe import read_recipe, stages_of
from sparc_search.errors import UsageError

RunCli = Callable[..., CompletedProcess[str]]
ROOT = Path(__file__).resolve().parents[2]

RECIPE = """
[data]
"train.json" = 1.0
"more.json" = 0.5

[reader]
steps = 2
batch = 4
max-tokens = 40
tune = 2
measure = 2
hold-out = 2
negatives = 0.5
arithmetic = "fp32"

[teacher]
keep = 4

[[stretch]]
name = "first"
steps = 2
cool-down = 1
passages = 3
max-tokens = 40
hold-out = 2
dense-size = 8
sparse-size = 8

[[stretch]]
name = "taught"
steps = 2
teacher = true
dropout = 0.1
freeze-layers = 1
paths = 0.5
passages = 3
max-tokens = 40
hold-out = 2

[[stretch]]
name = "int8"
steps = 2
quantise = true
passages = 3
max-tokens = 40
hold-out = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "base"
    base.mkdir()
    save_file(
        {f"bert.{name}": value.contiguous() for name, value in tiny_network().body.state_dict().items()},
        base / "model.safetensors",
    )
    (base / "config.json").write_text(json.dumps(BODY))
    tiny_pieces().save(base)
    for name in ("train", "more"):
        articles = [{"title": f"{name} {number}", "paragraphs": [paragraph(name, number)]} for number in range(12)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"data": articles}))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


def paragraph(name: str, number: int) -> dict[str, object]:
    context = f"the {name} tower {number} was built in 18{number:02} in paris"
    answers = [{"text": f"18{number:02}", "answer_start": context.index("18")}]
    return {
        "context": context,
        "qas": [
            {"id": f"{name}{number}", "question": f"when was {name} tower {number} built", "answers": answers},
            {"id": f"no{number}", "question": "when was the river built", "answers": [], "is_impossible": True},
        ],
    }


def test_a_tiny_recipe_from_end_to_end(run_cli: RunCli, folder: Path) -> None:
    call = ("train", folder, "--recipe", folder / "recipe.toml", "--base", folder / "base", "--out", folder / "made")
    made = run_cli(*call, "--threads", "1")
    assert made.returncode == 0, made.stderr
    assert (folder / "made" / "teacher.npz").exists()
    shipped = json.loads((folder / "made" / "model" / "card.json").read_text())
    assert shipped["precision"] == "static8"
    assert {"model.onnx", "ranges.json"} <= shipped["sha256"].keys()
    record = json.loads((folder / "made" / "taught" / "training.json").read_text())
    assert record["steps"] == 2
    assert record["settings"]["freeze_layers"] == 1
    assert record["settings"]["dropout"] == 0.1
    assert all(row["teacher"] > 0 and row["traps"] > 0 for row in record["curve"])
    again = run_cli(*call, "--threads", "1")
    assert again.stderr.count("done before") == 5


def test_options_beside_a_recipe_are_refused(run_cli: RunCli, folder: Path) -> None:
    call = ("train", folder, "--recipe", folder / "recipe.toml", "--out", folder / "made")
    beside = run_cli(*call, "--steps", "7")
    assert beside.returncode == 2
    assert "--steps and --recipe exclude each other" in beside.stderr
    no_base = run_cli(*call)
    assert no_base.returncode == 2
    assert "names no base" in no_base.stderr


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("freeze-layers = 1", "freeze-layer = 1", "did you mean 'freeze-layers'"),
        ("[reader]", "[reading]", "did you mean 'reader'"),
        ("keep = 4", "keeps = 4", "did you mean 'keep'"),
        ("negatives = 0.5", "negative = 0.5", "did you mean 'negatives'"),
        ('name = "taught"', 'name = "first"', "name of its own"),
        ("[data]", "[data", "not TOML"),
        ("[[stretch]]", "[[reader.x]]", "at least one [[stretch]]"),
    ],
)
def test_a_recipe_says_nothing_that_nobody_would_obey(folder: Path, before: str, after: str, said: str) -> None:
    path = folder / "recipe.toml"
    path.write_text(RECIPE.replace(before, after))
    with pytest.raises(UsageError) as caught:
        read_recipe(path)
    assert said in f"{caught.value} {caught.value.remedy}"


def test_the_default_recipe_is_one(folder: Path) -> None:
    path = ROOT / "recipes" / "default.toml"
    stages = stages_of(read_recipe(path), path, folder, folder / "made", None)
    assert [stage.name for stage in stages] == ["reader", "teacher", "whole", "taught", "int8"]
    assert str(folder / "made" / "taught") in stages[-1].arguments
