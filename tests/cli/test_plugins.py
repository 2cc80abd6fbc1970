"""`plugins` lists what is installed, with origin and one line each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def test_the_list_names_origin_and_purpose(run_cli: RunCli) -> None:
    done = run_cli("plugins")
    (line,) = [line for line in done.stdout.splitlines() if " toy " in line]
    assert line.split(maxsplit=4) == [
        "encoders",
        "toy",
        "sparc-search-toy-encoder",
        "1.0",
        "A toy encoder for tests; it needs no model files.",
    ]


def test_json_and_a_broken_plugin(run_program: RunCli, toy_plugin: Path, tmp_path: Path) -> None:
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[sparc_search.stores]\nbroken = nothing_here:store\n")
    done = run_program("plugins", "--json", env={"PYTHONPATH": f"{toy_plugin}:{tmp_path}"})
    found = {(plugin["group"], plugin["name"]): plugin for plugin in json.loads(done.stdout)}
    assert done.returncode == 0
    assert found["encoders", "toy"]["problem"] == ""
    assert "No module named 'nothing_here'" in found["stores", "broken"]["problem"]
