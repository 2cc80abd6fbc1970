"""Where words stand on a page of a PDF: what begins behind a gap, and at the same place as words of other lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

_GAP: Final = 1.2  # times the size of letters: no space between two words of a sentence is as wide
_SPACE: Final = 0.6  # of it: more than the space between two words
NEAR: Final = 0.35  # of it: words begin at the same place
FEWEST: Final = 3  # lines that a column must have


class Word(NamedTuple):
    """A word and where it stands on its line."""

    text: str
    left: float
    right: float


class Words(NamedTuple):
    """The words of a line, and the size of its letters."""

    words: tuple[Word, ...]
    size: float
    top: float = 0.0


class Found(NamedTuple):
    """Lines `first` to `last` (without it) are a table with these columns, or columns of text."""

    first: int
    last: int
    rows: list[list[str]]
    prose: bool


def after_gaps(*lines: Words) -> list[float]:
    """Where words begin that stand behind a gap, from left to right, each place once."""
    places: list[float] = []
    for line in lines:
        for before, word in zip(line.words, line.words[1:], strict=False):
            gap = word.left - before.right >= _GAP * line.size
            if gap and not any(abs(word.left - place) <= NEAR * line.size for place in places):
                places.append(word.left)
    return sorted(places)


def respects(line: Words, place: float) -> bool:
    """Whether nothing is written across a place: no word, and no two words that stand close together."""
    near = NEAR * line.size
    if any(word.left < place - near and word.right > place for word in line.words):
        return False
    pairs = zip(line.words, line.words[1:], strict=False)
    return not any(
        before.left < place - near and word.left > place + near and word.left - before.right < _SPACE * line.size
        for before, word in pairs
    )


def begins(line: Words, place: float) -> bool:
    """Whether a word begins there, behind more than the space between two words."""
    right = -inf
    for word in line.words:
        if abs(word.left - place) <= NEAR * line.size:
            return word.left - right >= _SPACE * line.size
        right = word.right
    return False


def cells_of(line: Words, columns: Sequence[float]) -> list[str]:
    """The words of a line between the places at which columns begin."""
    cells: list[list[str]] = [[] for _ in range(len(columns) + 1)]
    for word in line.words:
        cells[sum(word.left >= column - NEAR * line.size for column in columns)].append(word.text)
    return [" ".join(cell) for cell in cells]
