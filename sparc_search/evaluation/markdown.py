"""Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Sequence


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell(value) for value in line) + " |" for line in lines)


def cell(value: object) -> str:
    """One cell: on one line, and its bars are no borders."""
    return re.sub(r"\s+", " ", str(value)).replace("|", "\\|")
