"""The verbs of the Makefile: they are listed, documented, and the demo really goes from files to answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERBS = ("demo", "test", "test-fast", "check", "bench", "docs", "format", "clean", "help")


def test_help_lists_every_verb() -> None:
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in shown.splitlines()} == set(VERBS)
    assert set(re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()) == set(VERBS)


def test_every_verb_is_in_the_contributors_page() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert [verb for verb in VERBS if verb != "help" and f"`make {verb}`" not in page] == []


def test_ci_requires_everything_and_uses_the_same_verbs() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert lines[-3:] == ["export REQUIRE_ALL=1", "make check", "make test"]


@pytest.mark.slow
def test_the_demo_answers_and_says_what_to_try(toy_plugin: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(toy_plugin), "SPARC_SEARCH_ENCODER": "toy"}
    for _ in range(2):  # the second time nothing is read again
        done = subprocess.run(
            [sys.executable, ROOT / "tools/demo.py", str(tmp_path / "demo")],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "mount-elbrus.md" in done.stdout
        assert "s after the start. The environment has" in done.stderr
        assert f"sparc-search ask --index {tmp_path / 'demo'}\n" in done.stderr
