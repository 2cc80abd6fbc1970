"""`sparc-search train` on a tiny body: what it writes, how it goes on, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from safetensors.numpy import load_file
from safetensors.torch import save_file
from tiny_model import BODY, tiny_network, tiny_pieces

RunCli = Callable[..., CompletedProcess[str]]
SHAPE = ("--dense-size", "8", "--sparse-size", "8", "--max-tokens", "40", "--passages", "3", "--threads", "1")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    weights = {f"bert.{name}": value.contiguous() for name, value in tiny_network().body.state_dict().items()}
    save_file(
        {**weights, "cls.predictions.bias": weights["bert.embeddings.LayerNorm.bias"].clone()},
        folder / "model.safetensors",
    )
    (folder / "config.json").write_text(json.dumps({**BODY, "hidden_dropout_prob": 0.1}))
    tiny_pieces().save(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def paragraph(place: str, year: str) -> dict[str, object]:
        context = f"the {place} was built in {year} in paris"
        question = {
            "id": place,
            "question": f"when was the {place} built",
            "answers": [{"text": year, "answer_start": context.index(year)}],
        }
        return {"context": context, "qas": [question]}

    articles = [
        {
            "title": f"article {number}",
            "paragraphs": [paragraph(f"tower{number}{letter}", f"18{number}2") for letter in "ab"],
        }
        for number in range(10)
    ]
    path = tmp_path_factory.mktemp("data") / "train.json"
    path.write_text(json.dumps({"version": "1.1", "data": articles}))
    return path


def test_train_resume_and_what_it_leaves(run_cli: RunCli, base: Path, data: Path, tmp_path: Path) -> None:
    common = (data, "--base", base, *SHAPE, "--hold-out", "2", "--evaluate-every", "2", "--checkpoint-every", "2")
    first = run_cli("train", *common, "--out", tmp_path / "m", "--steps", "4", "--cool-down", "2", "--json")
    assert first.returncode == 0, first.stderr
    record = json.loads(first.stdout)
    assert record["steps"] == 4
    assert record["data"][0]["file"] == "train.json"
    assert "em" in record["held_out"]
    written = {path.name for path in (tmp_path / "m").iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "model.onnx",
        "questions.onnx",
        "tokenizer.json",
        "card.json",
        "training.json",
        "training.png",
    } <= written

    again = run_cli("train", *common, "--out", tmp_path / "m", "--steps", "6")
    assert again.returncode == 2
    assert "--resume" in again.stderr

    more = run_cli("train", *common, "--out", tmp_path / "m", "--steps", "6", "--cool-down", "2", "--resume", "--json")
    assert more.returncode == 0, more.stderr
    assert json.loads(more.stdout)["steps"] == 6

    shown = run_cli("evaluate", "squad", data, "--model", tmp_path / "m", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["questions"] == 20

    further = run_cli(
        "train", data, "--base", tmp_path / "m", *SHAPE, "--hold-out", "2", "--steps", "1", "--out", tmp_path / "n"
    )
    assert further.returncode == 0, further.stderr


def test_the_seed_decides(run_cli: RunCli, base: Path, data: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        done = run_cli(
            "train",
            data,
            "--base",
            base,
            *SHAPE,
            "--hold-out",
            "0",
            "--steps",
            "2",
            "--seed",
            seed,
            "--out",
            tmp_path / name,
        )
        assert done.returncode == 0, done.stderr
    a, b, c = (load_file(tmp_path / name / "model.safetensors") for name in "abc")
    assert all((a[key] == b[key]).all() for key in a)
    assert any((a[key] != c[key]).any() for key in a)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--base", "nowhere"), "no model in nowhere"),
        (("--weight", "1", "--weight", "2"), "--weight"),
        (("--steps", "1", "--epochs", "1"), "exclude"),
        (("--ngrams", "one"), "--ngrams"),
        (("--hold-out", "99"), "nothing is left to train on"),
    ],
)
def test_wrong_usage(
    run_cli: RunCli, base: Path, data: Path, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    done = run_cli("train", data, "--base", base, *SHAPE, "--out", tmp_path / "m", *options)
    assert done.returncode in {1, 2}
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_data_that_is_not_there(run_cli: RunCli, base: Path, tmp_path: Path) -> None:
    done = run_cli("train", tmp_path / "none.json", "--base", base, "--out", tmp_path / "m")
    assert done.returncode == 1
    assert "cannot read" in done.stderr
