"""The page of benchmarks, reports as files, and where a figure comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparc_search.errors import ReaderError
from sparc_search.evaluation.markdown import table
from sparc_search.evaluation.page import write_section
from sparc_search.evaluation.provenance import provenance, read_report, write_report


def test_a_command_owns_its_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_section("a", "First", "make a", "old \\1", page)
    write_section("b", "Second", "make b", "other", page)
    write_section("a", "First", "make a", "new \\1", page)
    text = page.read_text()
    assert text.startswith("# Raw figures")
    assert "old" not in text
    assert text.index("new \\1") < text.index("other")
    assert text.count("## First") == 1
    assert "`make b` · " in text


def test_cells_do_not_break_a_table() -> None:
    assert table(("a",), [("x|y\nz",)]) == "| a |\n| --- |\n| x\\|y z |"


def test_provenance_names_no_folder(tmp_path: Path) -> None:
    data = tmp_path / "dev.json"
    data.write_text("abc")
    head = provenance("sparc-search evaluate", data)
    assert head["data"] == "dev.json"
    assert head["data_sha256"] == "ba7816bf8f01"
    assert str(tmp_path) not in str(head)


def test_reports_come_back(tmp_path: Path) -> None:
    write_report(tmp_path / "new" / "r.json", {"rows": [], "a": "ü"})
    assert read_report(tmp_path / "new" / "r.json") == {"rows": [], "a": "ü"}
    (tmp_path / "bad.json").write_text("{}")
    for name in ("none.json", "bad.json"):
        with pytest.raises(ReaderError):
            read_report(tmp_path / name)
