"""`doctor` looks at everything, and one broken thing hides no other."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.cli import doctor
from sparc_search.settings import load

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def checks(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(done.stdout)}


def test_all_is_well_with_the_toy_encoder(run_cli: RunCli) -> None:
    done = run_cli("doctor", "--encoder", "toy", "--json")
    found = checks(done)
    assert {name: c for name, c in found.items() if c["status"] == "problem"} == {}
    assert done.returncode == 0
    assert found["model"]["detail"] == "default, opened by toy, fingerprint toy-1"
    assert found["numpy"]["status"] == "ok"
    assert {"python", "sparc-search", "jinja2", "index", "disk", "gpu"} <= found.keys()
    assert "pytest" not in found  # tools of developers are not looked for


def test_the_default_model_is_whole(run_cli: RunCli) -> None:
    found = checks(run_cli("doctor", "--json"))
    assert found["model"]["status"] == "ok"
    assert found["model files"]["status"] == "ok"
    assert "model.onnx, model.safetensors" in found["model files"]["detail"]


def test_a_model_file_with_another_hash_is_a_problem(run_cli: RunCli, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    hashes = {name: hashlib.sha256(b"{}").hexdigest() for name in ("config.json", "tokenizer.json")}
    card = {"sha256": {**hashes, "model.safetensors": "0" * 64}}
    (tmp_path / "card.json").write_text(json.dumps(card))
    found = checks(run_cli("doctor", "--encoder", "toy", "--model", tmp_path, "--json"))
    assert found["model files"]["status"] == "problem"
    assert "model.safetensors is damaged" in found["model files"]["detail"]


def test_an_unknown_engine_and_a_missing_model_are_problems(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("doctor", "--engine", "nosuch", "--model", tmp_path / "nothing", "--json")
    found = checks(done)
    assert done.returncode == 1
    assert found["plugin nosuch"]["status"] == "problem"
    assert "local" in found["plugin nosuch"]["remedy"]
    assert found["model"]["status"] == "problem"
    assert found["disk"]["status"] == "ok"


def test_an_index_that_is_none(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "index").write_text("not an index")
    found = checks(run_cli("doctor", "--encoder", "toy", "--index", tmp_path / "index", "--json"))
    assert found["index"]["status"] == "problem"


def test_an_index_that_is_there(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The gold dome was built in 1923.")
    assert run_cli("ingest", "a.txt", env={"SPARC_SEARCH_ENCODER": "toy"}).returncode == 0
    found = checks(run_cli("doctor", "--encoder", "toy", "--json"))
    assert found["index"]["status"] == "ok"
    assert "1 passage, opened by local" in found["index"]["detail"]


def test_as_text(run_cli: RunCli) -> None:
    shown = run_cli("doctor", "--encoder", "toy").stdout
    assert any(line.split()[:2] == ["ok", "python"] for line in shown.splitlines())
    assert shown.splitlines()[-1].startswith("Everything that is needed is there and works.")


def test_the_last_line_names_the_problems(run_cli: RunCli) -> None:
    assert run_cli("doctor", "--engine", "nosuch").stdout.splitlines()[-1].startswith("Not all is well: plugin nosuch")


def test_what_one_extra_lacks_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    remedy = "pip install 'sparc-search[torch]'"
    names = ("torch", "onnx", "onnxscript")
    found = [doctor.Check(name, "note", "not installed (extra torch)", remedy) for name in names]
    monkeypatch.setattr(doctor, "examine", lambda settings: iter([*found, doctor.Check("disk", "ok", "1 GB free")]))
    assert doctor.doctor.main(["--encoder", "toy"], standalone_mode=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["note", "torch", "and", "2"]
    assert len(lines) == 4  # the extra, the disk, a blank line, the verdict


def test_little_room_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LITTLE_ROOM", 1 << 80)
    (check,) = [check for check in doctor.examine(load({"encoder": "nosuch"})) if check.name == "disk"]
    assert (check.status, check.remedy) == ("note", "make room before ingest")
