from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent.parent / "tools" / "test.py"
PLAIN = "def test_plain():\n    assert True\n"
SERVER = "import pytest\n@pytest.mark.servers\ndef test_server():\n    assert True\n"


@pytest.mark.parametrize(
    ("tests", "code", "failed"),
    [
        (PLAIN + SERVER, 0, []),
        (PLAIN, 0, []),
        (SERVER, 0, []),
        (PLAIN.replace("True", "False") + SERVER, 1, ["test_plain"]),
        (PLAIN + SERVER.replace("True", "False"), 1, ["test_server"]),
        ("", 5, []),
    ],
)
def test_both_kinds_run_and_either_can_fail(tmp_path: Path, tests: str, code: int, failed: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = servers\n")
    done = subprocess.run([sys.executable, TOOL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert re.findall(r"^FAILED test_it.py::(\w+)", done.stdout, re.MULTILINE) == failed
