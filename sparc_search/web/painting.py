"""A text painted with the weights of n-grams: a fill for the start, an underline for the end, a bracket over a pair.

A single word piece is never painted for a pair that it is part of: the pair has its bracket, and its points above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparc_search.inspection import Mark, Piece

from .rendering import number, shade

LONGEST = 120
"""Characters of a word piece that are shown."""
LEVELS = 2
"""Brackets that may stand above one another."""
_STRONG_PAIR = 0.45
"""Where all weights are painted, a pair has a bracket if it weighs this share of the heaviest n-gram."""
_FAINT = 0.05
"""Fewer points are no number to read."""
_IDEOGRAPHS = "\u2e80"
"""From here on characters are words by themselves."""


@dataclass(frozen=True, slots=True)
class PaintedPiece:
    """A word piece, the text before it, and how both are drawn."""

    number: int
    before: str
    text: str
    piece: Piece
    inside: bool
    """Whether the text before it is part of the phrase."""
    classes: str
    points: str
    """Below it: what it is worth alone."""
    over: str
    """Above it, if a bracket begins here: what the pair is worth."""
    grams: str
    """The numbers of the n-grams it is painted for."""
    opens: bool
    """It begins a word of several pieces, which stays on one line; `closes`: it ends one."""
    closes: bool


def painted(
    text: str,
    pieces: Sequence[Piece],
    marks: Iterable[Mark],
    chosen: tuple[int, int] | None,
    *,
    most: float,
    numbers: Mapping[str, int] | None = None,
    points: bool = True,
) -> list[PaintedPiece]:
    """Every word piece; `most` is the weight of the darkest shade, `numbers` tells n-grams apart."""
    marks = list(marks)
    alone = {mark.piece: mark for mark in marks if mark.n == 1}
    pairs = [mark for mark in marks if mark.n > 1]
    levels = _levels(pairs)
    made, befores = [], _befores(text, pieces)
    goes_on = [
        not befores[position] and _one_word(*pieces[position - 1 : position + 1]) for position in range(len(pieces))
    ]
    for position, piece in enumerate(pieces):
        within, on = goes_on[position], position + 1 < len(pieces) and goes_on[position + 1]
        own = alone.get(position)
        over = [mark for mark in pairs if mark.piece <= position < mark.piece + mark.n]
        drawn = _shades(own, most) + [_bracket(mark, position, levels[mark.piece, mark.n]) for mark in over]
        if chosen and chosen[0] <= position <= chosen[1]:
            drawn.append("on" + " first" * (position == chosen[0]) + " last" * (position == chosen[1]))
        begins = [mark for mark in over if mark.piece == position]
        made.append(
            PaintedPiece(
                number=position,
                before=befores[position],
                text=_short(piece.text.removeprefix("##") if piece.title else piece.text),
                piece=piece,
                inside=bool(chosen and chosen[0] < position <= chosen[1]),
                classes=" ".join(drawn),
                points=_points([own] if own else []) if points else "",
                over=_points(begins) if points else "",
                grams=" ".join(str(numbers[mark.name]) for mark in [*([own] if own else []), *over]) if numbers else "",
                opens=on and not within,
                closes=within and not on,
            )
        )
    return made


def _befores(text: str, pieces: Sequence[Piece]) -> list[str]:
    """What stands between each piece and the one before it."""
    found, at = [], 0
    for piece in pieces:
        if piece.title:
            found.append("" if piece.text.startswith("##") else " ")
        else:
            found.append(text[at : piece.start])
            at = max(piece.end, at)
    return found


def _one_word(last: Piece | None = None, piece: Piece | None = None) -> bool:
    """Whether letters meet letters where two pieces touch."""
    if not last or not piece or last.title != piece.title:
        return False
    meeting = last.text[-1:], piece.text.removeprefix("##")[:1]
    return all(letter.isalnum() and letter < _IDEOGRAPHS for letter in meeting)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}… ({len(text):,} characters)"


def strong(marks: Sequence[Mark]) -> list[Mark]:
    """Single words, and of the pairs the heavy ones: a bracket over every pair would hide the text."""
    most = max(map(worth, marks), default=0.0)
    return [mark for mark in marks if mark.n == 1 or worth(mark) >= _STRONG_PAIR * most]


def worth(mark: Mark) -> float:
    """The points of an n-gram at one place, for start and end together."""
    return mark.start + mark.end + mark.lex


def _shades(mark: Mark | None, most: float) -> list[str]:
    if mark is None:
        return []
    steps = (("s", mark.start), ("e", mark.end), ("l", mark.lex))
    return [f"{letter}{shade(value, most)}" for letter, value in steps if value > 0]


def _bracket(mark: Mark, position: int, level: int) -> str:
    side = "start" if mark.start >= mark.end else "end"
    edge = "first" if mark.piece == position else "last" if position == mark.piece + mark.n - 1 else "mid"
    return f"b{level} b{level}-{edge} b{level}-{side}"


def _points(marks: Sequence[Mark]) -> str:
    return " ".join(number(worth(mark), 1) for mark in marks if worth(mark) >= _FAINT)


def _levels(pairs: Sequence[Mark]) -> dict[tuple[int, int], int]:
    """Brackets that overlap stand on different levels."""
    free = [0] * LEVELS
    levels = {}
    for mark in sorted(pairs, key=lambda mark: (mark.piece, mark.n)):
        level = next((level for level in range(LEVELS) if free[level] <= mark.piece), LEVELS - 1)
        free[level] = mark.piece + mark.n
        levels[mark.piece, mark.n] = level
    return levels
