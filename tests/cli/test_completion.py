"""Tab completion works in the shells that are here, and its scripts name the right program."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

RunCli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(run_cli: RunCli, shell: str) -> None:
    done = run_cli("completion", shell)
    assert done.returncode == 0
    assert f"_SPARC_SEARCH_COMPLETE={shell}_complete" in done.stdout
    assert "sparc-search" in done.stdout


def test_bash_accepts_the_script(run_cli: RunCli) -> None:
    bash = shutil.which("bash")
    assert bash, "make itself runs its recipes with bash"
    done = subprocess.run([bash, "-n"], input=run_cli("completion", "bash").stdout, text=True, check=False)
    assert done.returncode == 0


def test_commands_and_choices_are_completed(run_cli: RunCli) -> None:
    def complete(words: str, position: int) -> set[str]:
        code = "from sparc_search.cli.main import run; run([])"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            env={"_SPARC_SEARCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)},
        )
        return {line.partition(",")[2] for line in done.stdout.splitlines()}

    assert complete("sparc-search do", 1) == {"doctor"}
    assert complete("sparc-search completion ", 2) == {"bash", "zsh", "fish"}


def test_another_shell_is_answered_with_the_known_ones(run_cli: RunCli) -> None:
    done = run_cli("completion", "tcsh")
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr
