"""Each command that measures writes one raw file, docs/benchmarks/NAME.md; docs/benchmarks.md is the page to read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sparc_search.evaluation import page
from sparc_search.evaluation.markdown import table
from sparc_search.evaluation.provenance import machine

__all__ = ["FOLDER", "machine", "table", "write_section"]

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


def write_section(name: str, title: str, command: str, body: str) -> None:
    """Replace (or make) the raw file of one measurement."""
    page.write_section(name, title, command, body, FOLDER / f"{name}.md")
