"""Rows of a table in words, as the model reads them: "Rent 2025, monthly: 2,100 €". What is shown stays the cell.

A text for the model is made of parts: ranges of the document, which are shown and may be answers, and words put in
between, which are neither. The alignment of the two texts follows from the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .blocks import Block, Range

_LABEL: Final = 40  # characters of a row's first cell, if it is said before each of the others

Part = Range | str
"""Characters of the document, or words that are put in."""


def rendered(text: str, parts: Sequence[Part]) -> str:
    """What the model reads."""
    return "".join(part if isinstance(part, str) else text[slice(*part)] for part in parts)


def column_names(text: str, blocks: Sequence[Block]) -> dict[int, list[str]]:
    """For each row of a table (by where it starts) the names of its columns; rows of a head are put together."""
    names: dict[int, list[str]] = {}
    head: list[Block] = []
    before: Block | None = None
    for block in blocks:
        begins = before is None or before.kind not in ("head", "row") or "\n\n" in text[before.end : block.start]
        if begins or (block.kind == "head" and before and before.kind == "row"):
            head = []
        if block.kind == "head":
            head.append(block)
        elif block.kind == "row":
            names[block.start] = (
                names[before.start] if before and before.start in names and not begins else (_named(text, head))
            )
        before = block
    return names


def _named(text: str, head: Sequence[Block]) -> list[str]:
    width = max((len(row.cells) for row in head), default=0)
    names = []
    for column in range(width):
        cells = (text[slice(*row.cells[column])] for row in head if column < len(row.cells))
        names.append(" ".join(dict.fromkeys(cell for cell in cells if cell)).rstrip(" :"))
    return names


def cells_in_words(text: str, row: Block, names: Sequence[str]) -> Iterator[tuple[Range, list[Part], list[Part]]]:
    """Each cell of a row that is not empty: where it stands, what is read before it, and what if it is the first."""
    filled = [(column, cell) for column, cell in enumerate(row.cells) if cell[0] < cell[1]]
    label = text[slice(*filled[0][1])] if filled and filled[0][0] == 0 else ""
    for number, (column, cell) in enumerate(filled):
        name = names[column] if column < len(names) else ""
        said: list[Part] = [f"{name}: "] if name else []
        again: list[Part] = [f"{label}, "] if label and number and name else []
        if number == 1 and label and not (names and names[0]):  # "Rent 2025" has been said just now, as a cell
            yield cell, [", " if name else _colon(label), *said], [*again, *said]
        else:
            short = number and len(label) <= _LABEL
            yield cell, [*(["; "] if number else []), *(again if short else []), *said], [*again, *said]


def _colon(label: str) -> str:
    return " " if label.endswith(":") else ": "


def head_in_words(row: Block) -> list[Part]:
    """The head of a table itself: the names of its columns, one after another."""
    parts: list[Part] = []
    for start, end in row.cells:
        if start < end:
            parts += [", ", (start, end)] if parts else [(start, end)]
    return parts
