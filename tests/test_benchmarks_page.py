"""docs/benchmarks.md holds no number of its own: each stands in the raw file of its row, and no raw file is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
_LINK = re.compile(r"\(benchmarks/([\w.-]+\.md)\)")
_NUMBER = re.compile(r"(?<![A-Za-z])\d+(?:,\d{3})*(?:\.\d+)?")


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Of each row of figures its name, its figures, and its raw files."""
    for line in PAGE.splitlines():
        if line.startswith("|") and (files := _LINK.findall(line)):
            what, how_much, beside, when, _ = (cell.strip() for cell in line.strip("|").split("|"))
            yield what, f"{how_much} {beside} {when}", files


@pytest.mark.parametrize(("what", "figures", "files"), list(rows()))
def test_every_figure_stands_in_its_raw_file(what: str, figures: str, files: list[str]) -> None:
    raw = " ".join((DOCS / "benchmarks" / name).read_text(encoding="utf-8") for name in files)
    known = set(_NUMBER.findall(raw))
    assert [number for number in _NUMBER.findall(figures) if number not in known] == [], what


def test_every_raw_file_is_linked() -> None:
    assert {path.name for path in (DOCS / "benchmarks").iterdir()} == set(_LINK.findall(PAGE))


def test_every_raw_file_says_how_it_was_made() -> None:
    for path in (DOCS / "benchmarks").iterdir():
        text = path.read_text(encoding="utf-8")
        assert re.search(r"^`[^`]+` · [^·]+ · 20\d\d-\d\d-\d\d$", text, re.MULTILINE), path.name
        assert f"<!-- {path.stem} -->" in text


def test_the_figures_of_the_readme_are_on_the_page() -> None:
    section = (DOCS.parent / "README.md").read_text(encoding="utf-8").partition("\n## Figures\n")[2]
    figures = [line.partition("|")[2].partition("|")[2] for line in section.splitlines() if line.startswith("| ")]
    assert len(figures) > 3
    assert [number for row in figures for number in _NUMBER.findall(row) if number not in _NUMBER.findall(PAGE)] == []
