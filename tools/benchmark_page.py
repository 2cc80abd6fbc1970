"""docs/benchmarks.md is written by the commands that measure: each owns one section, between two marks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sparc_search.evaluation import page as pages
from sparc_search.evaluation.markdown import table
from sparc_search.evaluation.page import INTRODUCTION
from sparc_search.evaluation.provenance import machine

__all__ = ["INTRODUCTION", "PAGE", "machine", "table", "write_section"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def write_section(name: str, title: str, command: str, body: str, page: Path = PAGE) -> None:
    """Replace (or add) one section of the page."""
    pages.write_section(name, title, command, body, page)
