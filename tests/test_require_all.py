"""What is not run is listed with its reason; where everything is required it is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PASSES = "def test_fine():\n    assert True\n"
SKIPS = PASSES + "import pytest\n@pytest.mark.skip(reason='needs a server: make server')\ndef test_s():\n    pass\n"
EXPECTED = PASSES + "import pytest\n@pytest.mark.xfail\ndef test_x():\n    assert False\n"
AT_IMPORT = "import pytest\npytest.importorskip('no_such_module_here')\n" + PASSES


def run(folder: Path, test: str, require_all: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(test)
    own = {"REQUIRE_ALL": require_all, "PYTHONPATH": str(HERE / "helpers"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = {**os.environ, **own}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "require_all", "-c", os.devnull, str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (SKIPS, "- needs a server: make server"),
        (EXPECTED, "- expected to fail: "),
        (AT_IMPORT + "", "- could not import 'no_such_module_here'"),
    ],
)
def test_left_out_is_listed_and_fails_where_all_is_required(tmp_path: Path, test: str, reason: str) -> None:
    (tmp_path / "test_other.py").write_text(PASSES)
    code, shown = run(tmp_path, test, "")
    assert code == 0
    assert "not run, and what it needs" in shown
    assert reason in shown
    assert run(tmp_path, test, "1")[0] == 1


def test_nothing_left_out_is_fine(tmp_path: Path) -> None:
    code, shown = run(tmp_path, PASSES, "1")
    assert code == 0
    assert "not run" not in shown


def test_the_suite_itself_is_watched(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.has_plugin("require_all")
