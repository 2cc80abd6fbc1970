"""`sparc-search tune`: what it prints, with which code it ends, and that the model it writes is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tiny_model import tiny_model

from sparc_search.model.export import export

RunCli = Callable[..., CompletedProcess[str]]
COLOURS = ("gold", "golden", "naive", "cafe", "saint", "queen")
PLACES = ("dome", "lake", "tower", "bridge", "school", "museum")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, twelve notes and a question on each."""
    made = tmp_path_factory.mktemp("tune")
    tiny_model().save_pretrained(made / "model")
    export(made / "model")
    notes = [(f"{a} {b}", 1800 + number) for number, (a, b) in enumerate(zip(COLOURS * 2, PLACES * 2, strict=True))]
    lines = [{"id": f"{year}", "title": name, "text": f"the {name} was built in {year}"} for name, year in notes]
    (made / "notes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = [{"question": f"when was the {name} built {year % 10}", "answer": f"{year}"} for name, year in notes]
    asked.append({"question": "when was \x1b[31mrome built", "answer": "753"})
    (made / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    return made


def test_tune_and_ask(run_cli: RunCli, folder: Path, tmp_path: Path) -> None:
    index = ("--index", tmp_path / "notes", "--model", folder / "model", "--threads", "1")
    assert run_cli("ingest", folder / "notes.jsonl", *index).returncode == 0
    tune = ("tune", folder / "questions.jsonl", *index, "--out", tmp_path / "tuned", "--epochs", "1", "--folds", "2")
    told = run_cli(*tune)
    assert told.returncode == 3, told.stderr
    assert "fewer than 100 questions" in told.stdout
    assert "Nothing was written" in told.stdout
    assert "whose answers stand nowhere in the index" in told.stderr
    assert "rome built" in told.stderr
    assert "\x1b[31m" not in told.stderr
    assert not (tmp_path / "tuned").exists()

    written = run_cli(*tune, "--anyway", "--json")
    assert written.returncode == 0, written.stderr
    record = json.loads(written.stdout)
    assert (record["learned_from"], record["cross_validation"]["verdict"]) == (12, "too few")

    shown = json.loads(run_cli("model", "show", tmp_path / "tuned", "--json").stdout)
    base = json.loads(run_cli("model", "show", folder / "model", "--json").stdout)
    assert (shown["fingerprint"], bool(shown["tuned"]), base["tuned"]) == (base["fingerprint"], True, "")
    assert {file["state"] for file in shown["files"]} == {"verified"}
    tuned = ("--index", tmp_path / "notes", "--model", tmp_path / "tuned")
    assert run_cli("ask", "when was the gold dome built", *tuned).returncode == 0
    report = json.loads(run_cli("evaluate", "open", folder / "questions.jsonl", *tuned, "--json").stdout)
    assert report["model"] == shown["tuned"]
    assert report["tuning"]["questions"] == 13
    plain = json.loads(
        run_cli("evaluate", "open", folder / "questions.jsonl", *index[:4], "--batched", "--json").stdout
    )
    assert report["tuning"]["exact_match"]["first"] == pytest.approx(plain["exact_match"], abs=100 / 13)


def test_what_is_missing_is_said(run_cli: RunCli, folder: Path, tmp_path: Path) -> None:
    index = ("--index", tmp_path / "notes", "--model", folder / "model")
    no_index = run_cli("tune", folder / "questions.jsonl", *index, "--out", tmp_path / "tuned")
    assert no_index.returncode == 1
    assert "sparc-search ingest" in no_index.stderr
    (tmp_path / "empty.jsonl").write_text("")
    empty = run_cli("tune", tmp_path / "empty.jsonl", *index, "--out", tmp_path / "tuned")
    assert empty.returncode == 1
    assert "holds no questions" in empty.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("tuned")] == []
