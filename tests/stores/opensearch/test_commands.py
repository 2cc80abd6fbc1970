"""The command line on a real server: what works in a folder works there, with the same answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import Engine

RunCli = Callable[..., subprocess.CompletedProcess[str]]
TEXTS = {
    "eiger.txt": "The Eiger was first climbed in 1858 by Charles Barrington.",
    "matterhorn.txt": "The Matterhorn was first climbed in 1865 by Edward Whymper.",
    "sea.txt": "The Baltic Sea is shallow.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def run(run_cli: RunCli, opensearch: Engine) -> Callable[..., Any]:
    """Run a command on the server's index: exit code and what it printed, as JSON if it is."""

    def run(*arguments: str | Path, code: int = 0, **more: Any) -> Any:
        env = {"SPARC_SEARCH_ENCODER": "toy", **opensearch.environment(), **more.pop("env", {})}
        done = run_cli(*arguments, env=env, **more)
        assert done.returncode == code, done.stderr
        try:
            return json.loads(done.stdout)
        except ValueError:
            return done.stdout + done.stderr

    return run


def test_from_nothing_to_an_answer_and_back(run: Any, run_cli: RunCli, folder: Path, tmp_path: Path) -> None:
    assert "ingest" in run("ask", "When?", code=1)
    summary = run("ingest", "--json", folder)
    assert (summary["read"], summary["indexed"], summary["rejected"]) == (3, 3, 0)
    assert run("ingest", "--json", folder)["unchanged"] == 3
    reply = run("ask", "When was the Eiger climbed?", "--json")
    local = {"SPARC_SEARCH_ENCODER": "toy", "SPARC_SEARCH_INDEX": str(tmp_path / "local")}
    assert run_cli("ingest", folder, env=local).returncode == 0
    here = json.loads(run_cli("ask", "When was the Eiger climbed?", "--json", env=local).stdout)
    for one in (reply, here):
        del one["seconds"], one["snapshot"]
    assert reply == here
    assert reply["answers"][0]["text"] == "1858"
    assert run("index", "stats", "--json")["passages"] == 3
    assert run("index", "verify", "--json")["ok"]
    assert run("doctor", "--json")[-3]["status"] != "problem"


def test_sync_delete_export_import(run: Any, opensearch: Engine, folder: Path, tmp_path: Path) -> None:
    run("ingest", "--json", folder)
    (folder / "sea.txt").unlink()
    assert run("ingest", "--json", folder, "--sync")["deleted"] == 1
    run("index", "export", "--encoded", "-o", tmp_path / "all.jsonl.gz")
    ids = [path for path in TEXTS if path != "sea.txt"]
    listed = run("index", "export").splitlines()
    assert len(listed) == 1 + len(ids)
    first = json.loads(listed[1])["id"]
    assert run("index", "delete", first, "--purge", "--json") == {"deleted": 1, "not there": 0, "purged": True}
    facts = run("index", "stats", "--json")
    assert facts["documents"] == 1
    left = opensearch.request("GET", f"/{facts['version']},{facts['version']}-documents/_stats/docs")["indices"]
    assert [index["primaries"]["docs"]["deleted"] for index in left.values()] == [0, 0]
    assert run("index", "import", tmp_path / "all.jsonl.gz", "--json") == {
        "documents": 1,
        "passages": 1,
        "unchanged": 1,
    }
    assert run("index", "verify", "--json")["documents"] == 2


def test_rebuild_and_roll_back(run: Any, folder: Path) -> None:
    run("ingest", "--json", folder)
    (folder / "sea.txt").write_text("The Caspian Sea has no outlet.")
    (folder / "eiger.txt").unlink()
    summary = run("ingest", "--json", folder, "--rebuild")
    assert (summary["indexed"], summary["unchanged"]) == (1, 1)  # what has not changed was taken over
    assert run("index", "stats", "--json")["documents"] == 2
    assert run("ask", "When was the Eiger climbed?", "--json")["answers"][0]["text"] == "1865"
    run("index", "rollback")
    assert run("index", "stats", "--json")["documents"] == 3
    assert run("ask", "When was the Eiger climbed?", "--json")["answers"][0]["text"] == "1858"
    assert "exclude" in run("ingest", "--json", folder, "--rebuild", "--dry-run", code=2)


def test_what_the_server_will_not_take_is_in_the_reject_file(run: Any, folder: Path, tmp_path: Path) -> None:
    lines = [{"id": "x" * 9000, "text": "Too long an id."}, {"id": "fine", "text": "A zebra in 1999."}]
    (folder / "more.jsonl").write_text("\n".join(map(json.dumps, lines)))
    summary = run("ingest", "--json", folder, code=3)
    assert (summary["indexed"], summary["rejected"]) == (4, 1)
    (reject,) = map(json.loads, Path(summary["rejects_file"]).read_text().splitlines())
    assert "8,000 bytes" in reject["reason"]
    assert run("index", "stats", "--json")["documents"] == 4


def test_nobody_is_there(run: Any) -> None:
    said = run("ask", "When?", code=1, env={"SPARC_SEARCH_URL": "http://127.0.0.1:9"})
    assert "cannot reach http://127.0.0.1:9" in said
    assert "Traceback" not in said


def test_a_password_is_never_in_an_address(run: Any) -> None:
    said = run("ask", "When?", code=2, env={"SPARC_SEARCH_URL": "https://me:sesame@127.0.0.1:9"})
    assert "sesame" not in said
