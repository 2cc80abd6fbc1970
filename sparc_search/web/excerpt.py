"""The part of a text around an answer, cut into pieces: nothing is marked by writing markup into a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparc_search.inspection.summaries import snippet

_SPACE = re.compile(r"\s+")
AROUND = 260
LONGEST = 300
LONGEST_LINE = 180


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text before an answer, the answer, text after it."""

    before: str
    answer: str
    after: str


def excerpt(text: str, start: int, end: int) -> Excerpt:
    """An answer in its surroundings, each part on one line and none of it endless."""
    first, last = max(start - 2 * AROUND, 0), end + 2 * AROUND
    before, answer, after = (_SPACE.sub(" ", part) for part in (text[first:start], text[start:end], text[end:last]))
    return Excerpt(_last(before, cut=first > 0), shortened(answer.strip()), _first(after, cut=last < len(text)))


def one_line(text: str) -> str:
    """A text on one line, its middle left out if it is long."""
    return shortened(_SPACE.sub(" ", text).strip())


def shortened(text: str) -> str:
    """A text whose middle is left out if it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 3 :]}"


def _last(text: str, *, cut: bool) -> str:
    if len(text) <= AROUND and not cut:
        return text.lstrip()
    end = text[-AROUND:]
    return "… " + (end.partition(" ")[2] or end)


def _first(text: str, *, cut: bool) -> str:
    if len(text) <= AROUND and not cut:
        return text.rstrip()
    beginning = text[:AROUND]
    return (beginning.rpartition(" ")[0] or beginning) + " …"


def marked(text: str, typed: str) -> list[tuple[str, bool]]:
    """A line of a text around the first of some words, in pieces; True for what is one of the words."""
    words = sorted(typed.split(), key=len, reverse=True)
    line = snippet(text, words[0] if words else "")
    line = line if len(line) <= LONGEST_LINE + 4 else line[:LONGEST_LINE] + " …"
    if not words:
        return [(line, False)]
    pieces = re.split("(" + "|".join(map(re.escape, words)) + ")", line, flags=re.IGNORECASE)
    return [(piece, at % 2 == 1) for at, piece in enumerate(pieces) if piece]


NEAR = 70
"""Characters shown before and after what is marked."""


def _near(text: str, start: int, end: int) -> range:
    """The characters of a span and near it, cut between words where there is a space to cut at."""
    first, last = max(start - NEAR, 0), min(end + NEAR, len(text))
    if first:
        first = text.find(" ", first, start) + 1 or first
    if last < len(text):
        space = text.rfind(" ", end, last)
        last = last if space < 0 else space
    return range(first, last)


def around(text: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[str, str]]:
    """A text in pieces, each with the kind of its span (`both` where two overlap); what is far from all is left out."""
    spans = [(start, min(end, start + LONGEST), kind) for start, end, kind in spans]
    marks = {at: "" for start, end, _ in spans for at in _near(text, start, end)}
    for start, end, kind in spans:
        for at in range(start, end):
            marks[at] = kind if marks.get(at) in ("", kind) else "both"
    pieces: list[tuple[str, str]] = []
    before = -1
    for at in sorted(marks):
        if at != before + 1:
            pieces.append((" … ", ""))
        if pieces and pieces[-1][1] == marks[at]:
            pieces[-1] = (pieces[-1][0] + text[at], marks[at])
        else:
            pieces.append((text[at], marks[at]))
        before = at
    return [*pieces, (" …", "")] if before + 1 < len(text) else pieces
