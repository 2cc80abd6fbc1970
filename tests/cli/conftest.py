"""Commands that exist only in tests, registered as a row of the table like any other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.cli import main

AddCommand = Callable[[str], str]


@pytest.fixture
def add_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AddCommand:
    """`add_command("raise ValueError")` makes a command `probe` with this body; its name comes back."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(body: str) -> str:
        (tmp_path / "probe_command.py").write_text(probe_source(body))
        monkeypatch.delitem(sys.modules, "probe_command", raising=False)
        monkeypatch.setitem(main.COMMANDS, "probe", main.Entry("probe_command:probe", "A probe."))
        return "probe"

    return add


def probe_source(body: str) -> str:
    """The module of the command."""
    return (
        "import click, time, sys, os, logging\n"
        "from sparc_search.errors import *\n"
        "from sparc_search.cli import options, terminal\n"
        "@click.command()\ndef probe():\n"
        f'    """A probe."""\n    {body}\n'
    )
