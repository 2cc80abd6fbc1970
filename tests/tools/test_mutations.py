"""The table of mutations is about the code as it is, and a mutation that nobody notices is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import mutations
from tools.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_line_is_there_once_and_so_are_its_tests(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.text) == 1, "tell tools/mutations.py"
    assert [test for test in mutation.tests if not (ROOT / test).is_file()] == []


@pytest.mark.slow
def test_verdicts(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = -p groups\n",
        "right.py": "def double(x):\n    return x + x\n",
        "test_double.py": "import right\ndef test_double():\n    assert right.double(3) == 6\n",
        "test_nothing.py": "def test_nothing():\n    pass\n",
        "test_wrong.py": "def test_wrong():\n    assert False\n",
        "groups.py": (ROOT / "tests" / "helpers" / "groups.py").read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def mutation(test: str, text: str = "x + x") -> Mutation:
        return Mutation("double", "right.py", text, "x * x", (test,))

    tests = [mutation("test_double.py"), mutation("test_nothing.py"), mutation("test_wrong.py")]
    found = list(mutations.tried(tmp_path, [*tests, mutation("test_double.py", "x - x")]))
    assert [verdict.word for verdict in found] == ["caught", "missed", "broken", "gone"]
    assert found[0].by == "test_double.py::test_double"
    assert (tmp_path / "right.py").read_text() == files["right.py"]
    assert "1 of 4 were caught" in mutations.section(found)


def test_a_folder_at_the_top_is_looked_for_where_it_is_installed() -> None:
    assert mutations.installed("cli/terminal.py") == "sparc_search/cli/terminal.py"
    assert mutations.installed("sparc_search/ngrams.py") == "sparc_search/ngrams.py"
