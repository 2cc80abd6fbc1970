"""The engine under `examples/`, as its user has it: installed beside, chosen by name, with a setting of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunCli = Callable[..., subprocess.CompletedProcess[str]]
MOST_LINES = 300


@pytest.fixture
def environment(example_engines: Path, toy_plugin: Path) -> dict[str, str]:
    own = {"SPARC_SEARCH_ENGINE": "lmdb", "SPARC_SEARCH_ENCODER": "toy", "SPARC_SEARCH_LMDB_GIGABYTES": "0.5"}
    return {"PYTHONPATH": f"{example_engines}:{toy_plugin}", **own}


def test_from_a_folder_to_an_answer(run_program: RunCli, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "dome.txt").write_text("The gold dome was built in 1923 by Ada Byrd.")
    ingested = run_program("ingest", "notes", env=environment)
    assert ingested.returncode == 0, ingested.stderr
    answers = {}
    for engine in ("lmdb", "local"):
        chosen = {**environment, "SPARC_SEARCH_ENGINE": engine, "SPARC_SEARCH_INDEX": f"{engine}-index"}
        assert run_program("ingest", "notes", env=chosen).returncode == 0
        asked = run_program("ask", "When was the gold dome built?", "--json", env=chosen)
        assert asked.returncode == 0, asked.stderr
        answers[engine] = [(answer["text"], answer["score"]) for answer in json.loads(asked.stdout)["answers"]]
    assert any("1923" in text for text, _ in answers["lmdb"])
    assert answers["lmdb"] == answers["local"]


def test_its_setting_is_shown_with_its_source(run_program: RunCli, environment: dict[str, str]) -> None:
    shown = run_program("config", "show", env=environment)
    assert shown.returncode == 0, shown.stderr
    (row,) = [row for row in shown.stdout.splitlines() if "lmdb_gigabytes" in row]
    assert "0.5" in row
    assert "SPARC_SEARCH_LMDB_GIGABYTES" in row


def test_what_it_leaves_out_is_said(run_program: RunCli, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "dome.txt").write_text("The gold dome was built in 1923.")
    assert run_program("ingest", "dome.txt", env=environment).returncode == 0
    refused = run_program("index", "stats", env=environment)
    assert refused.returncode != 0
    assert "this engine cannot describe itself" in refused.stderr


def test_it_is_short() -> None:
    source = Path(__file__).parents[1] / "examples" / "lmdb-engine" / "sparc_search_lmdb.py"
    assert len(source.read_text(encoding="utf-8").splitlines()) < MOST_LINES
