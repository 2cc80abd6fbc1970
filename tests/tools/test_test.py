"""`make test` runs every group, `make test-fast` one; each says what it left out, and each can fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAIN = "def test_plain():\n    assert True\n"
SERVER = "import pytest\n@pytest.mark.servers\ndef test_server():\n    assert True\n"
SLOW = "import pytest\n@pytest.mark.slow\ndef test_slow():\n    assert True\n"
EXTRA = "import matplotlib\ndef test_extra():\n    assert True\n"
LATE = "def test_late():\n    import matplotlib\n"
SETTINGS = "[pytest]\naddopts = -p groups\nmarkers =\n    servers\n    slow\n    extras\n    browser\n"


def run(folder: Path, *arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "matplotlib.py").touch()
    path = os.pathsep.join([str(ROOT / "tests" / "helpers"), str(folder)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, ROOT / "tools" / "test.py", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def failed(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^(?:FAILED|ERROR) test_\w+.py::(\w+)", done.stdout, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "code", "wrong"),
    [
        (PLAIN + SERVER + SLOW, 0, []),
        (PLAIN, 0, []),
        (SERVER, 0, []),
        (PLAIN.replace("True", "False") + SERVER, 1, ["test_plain"]),
        (PLAIN + SERVER.replace("True", "False"), 1, ["test_server"]),
        (PLAIN + SLOW.replace("True", "False"), 1, ["test_slow"]),
        ("", 5, []),
    ],
)
def test_all_groups_run_and_each_can_fail(tmp_path: Path, tests: str, code: int, wrong: list[str]) -> None:
    done = run(tmp_path, it=tests)
    assert (done.returncode, failed(done)) == (code, wrong), done.stdout


def test_the_fast_group_says_what_it_left_out(tmp_path: Path) -> None:
    done = run(tmp_path, "--fast", it=PLAIN + SERVER + SLOW, extra=EXTRA)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 2 deselected" in done.stdout
    assert "left out: 1 servers, 2 heavy" in done.stdout


def test_an_extra_that_is_not_declared_fails_where_it_is_installed_too(tmp_path: Path) -> None:
    assert failed(run(tmp_path, "--fast", it=LATE)) == ["test_late"]
    marked = "import pytest\n@pytest.mark.extras\n" + LATE
    assert run(tmp_path, it=marked).returncode == 0
