"""`config show` says every value and where it came from."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from sparc_search.settings import all_declared

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def test_show_as_json(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "sparc-search.toml").write_text("top_k = 2\nindex = 'here'\n")
    done = run_cli("--log-level", "error", "config", "show", "--json", env={"SPARC_SEARCH_STRATEGY": "dense"})
    shown = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(shown) == list(all_declared())
    assert shown["top_k"] == {"value": 2, "source": "file sparc-search.toml"}
    assert shown["index"]["value"] == "here"
    assert shown["strategy"] == {"value": "dense", "source": "environment SPARC_SEARCH_STRATEGY"}
    assert shown["log_level"] == {"value": "error", "source": "flag --log-level"}
    assert shown["engine"]["source"] == "default"


def test_show_as_a_table(run_cli: RunCli) -> None:
    done = run_cli("config", "show", env={"SPARC_SEARCH_INDEX": "a\x1b[2Jb"})
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert rows["top_k"] == ["top_k", "5", "default"]
    assert rows["index"][1:] == ["a␛[2Jb", "environment", "SPARC_SEARCH_INDEX"]
