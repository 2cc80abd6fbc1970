"""Tables and columns of a PDF's page, seen by where words stand: lines whose words begin at the same places.

A place at which words of several lines begin, each behind a gap, and which no word of them crosses, begins a column. If
what stands on both sides are long lines, they are two columns of text whose lines the file has mixed. Cells of several
lines, which a file may hold one cell after the other, are `pdf_cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from .pdf_cells import table_of_cells
from .pdf_places import FEWEST, Found, Words, after_gaps, begins, cells_of, respects

_SHARE: Final = 0.6  # of the lines of a table
_APART: Final = 2  # lines without a word at that place, one after another, that end a table
_TRIED: Final = 12  # places of a line that may be the second column
_ROWS_APART: Final = 1.25  # times the distance of the lines of a cell
_PROSE_LINES: Final = 8
_PROSE_WORDS: Final = 4


def tables(lines: Sequence[Words], may_belong: Callable[[int], bool]) -> Iterator[Found]:
    """The tables among the lines of a page; headings and the like do not belong to one."""
    at = 0
    while at < len(lines):
        found = None
        if may_belong(at):
            found = table_of_cells(lines, at, may_belong) or _table(lines, at, may_belong)
        if found:
            yield found
        at = found.last if found else at + 1


def _table(lines: Sequence[Words], first: int, may_belong: Callable[[int], bool]) -> Found | None:
    for start in after_gaps(lines[first])[:_TRIED]:
        last, supporters = first + 1, 1
        at = last
        while at < len(lines) and may_belong(at) and respects(lines[at], start) and at - last < _APART:
            at += 1
            if begins(lines[at - 1], start):
                last, supporters = at, supporters + 1
        if supporters >= FEWEST and supporters >= _SHARE * (last - first):
            some = lines[first:last]
            columns = [column for column in after_gaps(*some) if _is_column(some, column)]
            split = [cells_of(line, columns) for line in some]
            prose = len(columns) == 1 and _is_prose(some, split, columns[0])
            return Found(first, last, split if prose else _rows(split, [line.top for line in some]), prose)
    return None


def _is_column(lines: Sequence[Words], place: float) -> bool:
    beginning = sum(begins(line, place) for line in lines)
    return beginning >= max(FEWEST, len(lines) / 2) and all(respects(line, place) for line in lines)


def _rows(lines: Sequence[list[str]], tops: Sequence[float]) -> list[list[str]]:
    """A line without a first cell goes on with the row above it, and so does one that is closer to it than rows are."""
    apart = _distance_of_rows(lines, tops)
    rows: list[list[str]] = []
    for number, cells in enumerate(lines):
        if rows and (not cells[0] or tops[number - 1] - tops[number] < apart):
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows


def _distance_of_rows(lines: Sequence[list[str]], tops: Sequence[float]) -> float:
    """What is closer together than this is one row; 0 if distances do not tell.

    They do if each line behind a larger one has all its cells, and each of the others lacks one: groups of rows with a
    little space between them are not like that.
    """
    distances = [above - below for above, below in pairwise(tops)]
    apart = _ROWS_APART * min(distances)
    if min(distances) <= 0 or not any(distance >= apart for distance in distances):
        return 0.0
    tell = all(all(cells) == (distance >= apart) for cells, distance in zip(lines[1:], distances, strict=True))
    return apart if tell and all(lines[0]) else 0.0


def _is_prose(lines: Sequence[Words], split: Sequence[list[str]], column: float) -> bool:
    """Whether both sides are text: many lines of many words, and those on the left go up to the right side."""
    both = [cells for cells in split if all(cells)]
    if len(both) < _PROSE_LINES or any(
        sum(len(cells[side].split()) for cells in both) < _PROSE_WORDS * len(both) for side in (0, 1)
    ):
        return False
    ends = [max((word.right for word in line.words if word.left < column), default=0.0) for line in lines]
    return sum(max(ends) - end < 3 * line.size for end, line in zip(ends, lines, strict=True)) >= _SHARE * len(ends)
