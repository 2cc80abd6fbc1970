"""Tables of a PDF whose cells are of several lines, and stand in the file one cell after the other.

After the last line of a cell the next one begins to its right and as high as the first, or with its middle beside it:
such a step up tells that the lines before and after it are of one row. Columns of text make such steps too, but not
several below each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from .pdf_places import FEWEST, NEAR, Found, Words, after_gaps, cells_of, respects

_TALLEST: Final = 30  # lines of a row, those of all its cells together
_CELL: Final = 8  # lines of a cell


class _Row(NamedTuple):
    """Lines `first` to `last` (without it), and whether one of its cells has several."""

    first: int
    last: int
    tall: bool
    columns: list[float]
    """Where cells begin behind the first."""


def table_of_cells(lines: Sequence[Words], first: int, may_belong: Callable[[int], bool]) -> Found | None:
    """The table that begins with this line, if any of its rows has a cell of several lines that stands by itself."""
    rows = list[_Row]()
    at = first
    while at < len(lines) and may_belong(at) and _is_below(lines, first, at):
        row = _row_of_cells(lines, at, may_belong) or _row_of_a_line(lines, at, may_belong)
        if not row:
            break
        rows.append(row)
        at = row.last
    if len(rows) < FEWEST or not any(row.tall for row in rows):
        return None
    columns = _columns(lines[first].size, rows)
    if not columns or not all(respects(line, column) for line in lines[first:at] for column in columns):
        return None
    return Found(first, at, [_texts(lines[row.first : row.last], columns) for row in rows], prose=False)


def _is_below(lines: Sequence[Words], first: int, at: int) -> bool:
    """Whether a line begins a row of the same table: at the left, below the one before."""
    start, line = lines[first], lines[at]
    return at == first or (
        line.top < lines[at - 1].top + _near(line) and abs(_left(line) - _left(start)) <= _near(start)
    )


def _row_of_cells(lines: Sequence[Words], first: int, may_belong: Callable[[int], bool]) -> _Row | None:
    """The row that begins here, if another cell stands beside its first lines."""
    starts = [first]  # of its cells
    at = first + 1
    while at < len(lines) and may_belong(at) and at - first < _TALLEST and at - starts[-1] <= _CELL:
        line = lines[at]
        if line.top > lines[at - 1].top - _near(line):  # higher, or as high, behind so wide a gap that the line was cut
            if _left(line) < _right(lines[starts[-1] : at]) + _near(line):
                break
            starts.append(at)
        elif _left(line) < _left(lines[starts[-1]]) - _near(line):
            break
        at += 1
    cells = [lines[start:end] for start, end in pairwise([*starts, at])]
    if len(cells) < 2 or not _are_beside(cells):
        return None
    return _Row(
        first, at, at - first > len(cells), [*(_left(cell[0]) for cell in cells[1:]), *after_gaps(lines[first])]
    )


def _are_beside(cells: Sequence[Sequence[Words]]) -> bool:
    """Whether cells begin as high as the tallest of them, or have their middle where it has its own."""
    tallest = max(cells, key=_height)
    return all(
        abs(cell[0].top - tallest[0].top) <= _near(cell[0]) or abs(_middle(cell) - _middle(tallest)) <= _near(cell[0])
        for cell in cells
    )


def _row_of_a_line(lines: Sequence[Words], first: int, may_belong: Callable[[int], bool]) -> _Row | None:
    """A row whose cells all begin on this line; what follows under the second and later ones belongs to it."""
    columns = after_gaps(lines[first])
    at = first + 1
    while columns and at < len(lines) and at - first < _CELL and may_belong(at) and lines[at].top < lines[at - 1].top:
        if _left(lines[at]) < columns[0] - _near(lines[at]):
            break
        at += 1
    return _Row(first, at, False, columns) if columns else None


def _columns(size: float, rows: Sequence[_Row]) -> list[float]:
    """The places at which cells begin in at least half of the rows; a cell that is centred begins behind its own."""
    places: list[tuple[float, int]] = []
    for place in sorted(place for row in rows for place in row.columns):
        if places and place - places[-1][0] <= NEAR * size:
            places[-1] = places[-1][0], places[-1][1] + 1
        else:
            places.append((place, 1))
    return [place for place, count in places if 2 * count >= len(rows)]


def _texts(lines: Sequence[Words], columns: Sequence[float]) -> list[str]:
    """The cells of a row, each with all its lines."""
    split = [cells_of(line, columns) for line in lines]
    return [" ".join(part for part in cell if part) for cell in zip(*split, strict=True)]


def _height(cell: Sequence[Words]) -> float:
    return cell[0].top - cell[-1].top


def _middle(cell: Sequence[Words]) -> float:
    return (cell[0].top + cell[-1].top) / 2


def _left(line: Words) -> float:
    return line.words[0].left


def _right(lines: Sequence[Words]) -> float:
    return max(line.words[-1].right for line in lines)


def _near(line: Words) -> float:
    return NEAR * line.size
