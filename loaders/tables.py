"""Tables as readers find them: cells that span columns and rows are laid out, and the head is told from the rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

COLUMNS: Final = 1_000
"""Cells of a row beyond this are left out: no table that is read by people has as many."""

_NUMBER: Final = re.compile(r"\d")
_HEAD_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it stands in the source."""

    text: str
    columns: int = 1
    rows: int = 1
    head: bool = False


def grid(rows: Iterable[Sequence[Cell]]) -> list[list[Cell]]:
    """Rows with a cell in every column. One that spans rows stands in each of them, since each is read by itself; one
    that spans columns stands in each of them if it is a head, else in the first."""
    laid_out = []
    hanging: dict[int, tuple[Cell, int]] = {}  # column -> a cell from above, and for how many rows it still counts
    for row in rows:
        line: list[Cell] = []
        waiting = list(reversed(row))
        while (waiting or len(line) in hanging) and len(line) < COLUMNS:
            if len(line) in hanging:
                line.append(_taken(hanging, len(line)))
                continue
            cell = waiting.pop()
            for number in range(max(1, min(cell.columns, COLUMNS - len(line)))):
                placed = cell if cell.head or not number else Cell("")
                if cell.rows > 1:
                    hanging[len(line)] = placed, cell.rows - 1
                line.append(placed)
        laid_out.append(line)
    return laid_out


def _taken(hanging: dict[int, tuple[Cell, int]], column: int) -> Cell:
    cell, left = hanging.pop(column)
    if left > 1:
        hanging[column] = cell, left - 1
    return cell


def head_and_rows(rows: Sequence[Sequence[Cell]]) -> tuple[list[list[str]], list[list[str]]]:
    """The head and the other rows: what the source marks as head or, if it marks nothing, what looks like one."""
    texts = [[" ".join(cell.text.split()) for cell in row] for row in rows]
    marked = 0
    while marked < len(rows) - 1 and rows[marked] and all(cell.head or not cell.text.strip() for cell in rows[marked]):
        marked += 1
    if not marked and not any(cell.head for row in rows for cell in row) and looks_like_head(texts):
        marked = 1
    return texts[:marked], texts[marked:]


def looks_like_head(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names columns: short words without numbers, different from each other, above other things.

    Two columns without a number may as well be names and values; they have no head.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    first = rows[0]
    names = [name for name in first if name]
    if len(names) < len(first) - 1 or len(set(names)) < len(names):
        return False
    if any(_NUMBER.search(name) or len(name.split()) > _HEAD_WORDS for name in names):
        return False
    return len(first) > 2 or any(_NUMBER.search(value) for row in rows[1:] for value in row[1:])
