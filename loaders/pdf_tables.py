"""Tables and columns of a PDF's page, seen by where words stand: lines whose words begin at the same places.

A place at which words of several lines begin, each behind a gap, and which no word of them crosses, begins a column. If
what stands on both sides are long lines, they are two columns of text whose lines the file has mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Final, NamedTuple

_GAP: Final = 1.2  # times the size of letters: no space between two words of a sentence is as wide
_SPACE: Final = 0.6  # of it: more than the space between two words
_NEAR: Final = 0.35  # of it: words begin at the same place
_FEWEST: Final = 3  # lines that a column must have
_SHARE: Final = 0.6  # of the lines of a table
_APART: Final = 2  # lines without a word at that place, one after another, that end a table
_TRIED: Final = 12  # places of a line that may be the second column
_PROSE_LINES: Final = 8
_PROSE_WORDS: Final = 4


class Word(NamedTuple):
    """A word and where it stands on its line."""

    text: str
    left: float
    right: float


class Words(NamedTuple):
    """The words of a line, and the size of its letters."""

    words: tuple[Word, ...]
    size: float


class Found(NamedTuple):
    """Lines `first` to `last` (without it) are a table with these columns, or columns of text."""

    first: int
    last: int
    rows: list[list[str]]
    prose: bool


def tables(lines: Sequence[Words], may_belong: Callable[[int], bool]) -> Iterator[Found]:
    """The tables among the lines of a page; headings and the like do not belong to one."""
    at = 0
    while at < len(lines):
        found = _table(lines, at, may_belong) if may_belong(at) else None
        if found:
            yield found
        at = found.last if found else at + 1


def _table(lines: Sequence[Words], first: int, may_belong: Callable[[int], bool]) -> Found | None:
    for start in _after_gaps(lines[first])[:_TRIED]:
        last, supporters = first + 1, 1
        at = last
        while at < len(lines) and may_belong(at) and _respects(lines[at], start) and at - last < _APART:
            at += 1
            if _begins(lines[at - 1], start):
                last, supporters = at, supporters + 1
        if supporters >= _FEWEST and supporters >= _SHARE * (last - first):
            some = lines[first:last]
            columns = [column for column in _after_gaps(*some) if _is_column(some, column)]
            split = [_cells(line, columns) for line in some]
            prose = len(columns) == 1 and _is_prose(some, split, columns[0])
            return Found(first, last, split if prose else _rows(split), prose)
    return None


def _after_gaps(*lines: Words) -> list[float]:
    """Where words begin that stand behind a gap, from left to right, each place once."""
    places: list[float] = []
    for line in lines:
        for before, word in zip(line.words, line.words[1:], strict=False):
            gap = word.left - before.right >= _GAP * line.size
            if gap and not any(abs(word.left - place) <= _NEAR * line.size for place in places):
                places.append(word.left)
    return sorted(places)


def _respects(line: Words, place: float) -> bool:
    """Whether nothing is written across a place: no word, and no two words that stand close together."""
    near = _NEAR * line.size
    if any(word.left < place - near and word.right > place for word in line.words):
        return False
    pairs = zip(line.words, line.words[1:], strict=False)
    return not any(
        before.left < place - near and word.left > place + near and word.left - before.right < _SPACE * line.size
        for before, word in pairs
    )


def _begins(line: Words, place: float) -> bool:
    """Whether a word begins there, behind more than the space between two words."""
    right = -inf
    for word in line.words:
        if abs(word.left - place) <= _NEAR * line.size:
            return word.left - right >= _SPACE * line.size
        right = word.right
    return False


def _is_column(lines: Sequence[Words], place: float) -> bool:
    beginning = sum(_begins(line, place) for line in lines)
    return beginning >= max(_FEWEST, len(lines) / 2) and all(_respects(line, place) for line in lines)


def _cells(line: Words, columns: Sequence[float]) -> list[str]:
    cells: list[list[str]] = [[] for _ in range(len(columns) + 1)]
    for word in line.words:
        cells[sum(word.left >= column - _NEAR * line.size for column in columns)].append(word.text)
    return [" ".join(cell) for cell in cells]


def _rows(lines: Sequence[list[str]]) -> list[list[str]]:
    """A line without a first cell goes on with the row above it."""
    rows: list[list[str]] = []
    for cells in lines:
        if rows and not cells[0]:
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows


def _is_prose(lines: Sequence[Words], split: Sequence[list[str]], column: float) -> bool:
    """Whether both sides are text: many lines of many words, and those on the left go up to the right side."""
    both = [cells for cells in split if all(cells)]
    if len(both) < _PROSE_LINES or any(
        sum(len(cells[side].split()) for cells in both) < _PROSE_WORDS * len(both) for side in (0, 1)
    ):
        return False
    ends = [max((word.right for word in line.words if word.left < column), default=0.0) for line in lines]
    return sum(max(ends) - end < 3 * line.size for end, line in zip(ends, lines, strict=True)) >= _SHARE * len(ends)
