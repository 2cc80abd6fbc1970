"""`sparc-search` for tests, in this process or in one of its own, with the same answer: code, stdout and stderr.

    run_cli        in this process: a new one costs half a second, three where torch is needed
    run_program    in a fresh interpreter: for what only a process shows (imports, other packages, the program itself)

Both are called as `run_cli("ask", "…", input="", cwd=…, env={…})`.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

import pytest

from sparc_search.cli.main import run

RunCli = Callable[..., CompletedProcess[str]]
Variables = Mapping[str, str]


@pytest.fixture
def run_cli(toy_plugin: Path, tmp_path: Path) -> RunCli:
    """Run one command line here. Variables in `env` are set for its time."""

    def here(
        *arguments: str | Path, input: str = "", cwd: Path = tmp_path, env: Variables | None = None
    ) -> CompletedProcess[str]:
        assert "PYTHONPATH" not in (env or {}), "only a fresh interpreter looks at it: run_program"
        words = [str(argument) for argument in arguments]
        with streams(input) as (out, err), pytest.MonkeyPatch.context() as patch:
            patch.chdir(cwd)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = run(words)
            return CompletedProcess(words, code, text_of(out), text_of(err))

    return here


@pytest.fixture
def run_program(toy_plugin: Path, tmp_path: Path) -> RunCli:
    """Run one command line in a fresh interpreter, which finds the toy encoder unless `env` names other packages."""

    def apart(
        *arguments: str | Path, input: str = "", cwd: Path = tmp_path, env: Variables | None = None
    ) -> CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(toy_plugin), **(env or {})}
        return subprocess.run(
            program(*arguments),
            input=input,
            capture_output=True,
            text=True,
            cwd=cwd,
            env=environment,
            timeout=300,
            check=False,
        )

    return apart


def program(*arguments: str | Path) -> Sequence[str]:
    """The words that start it."""
    return [sys.executable, "-m", "sparc_search.cli.main", *map(str, arguments)]


@contextmanager
def streams(input: str) -> Iterator[tuple[IO[str], IO[str]]]:
    """Standard streams that are real files, as those of a process are; out and err."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        given, out, err = (
            stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace", newline=""))
            for _ in range(3)
        )
        given.write(input)
        given.seek(0)
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        patch.setattr(logging.getLogger(), "handlers", [])  # a command sends its log to its own stderr
        yield out, err


def text_of(stream: IO[str]) -> str:
    """Everything that was written to it."""
    stream.flush()
    stream.seek(0)
    return stream.read()
