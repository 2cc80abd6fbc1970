"""The part of a text around an answer, cut into pieces: nothing is marked by writing markup into a text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparc_search.inspection.summaries import snippet

_SPACE = re.compile(r"\s+")
AROUND = 260
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text before an answer, the answer, text after it."""

    before: str
    answer: str
    after: str


def excerpt(text: str, start: int, end: int, around: int = AROUND) -> Excerpt:
    """An answer in its surroundings, each part on one line and none of it endless."""
    before, answer, after = text[max(start - 2 * around, 0) : start], text[start:end], text[end : end + 2 * around]
    return Excerpt(
        _last(_line(before), around, cut=start > 2 * around),
        shortened(_line(answer).strip()),
        _first(_line(after), around, cut=end + 2 * around < len(text)),
    )


def shortened(text: str, most: int = LONGEST) -> str:
    """A text whose middle is left out if it is long."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 3 :]}"


def _line(text: str) -> str:
    return _SPACE.sub(" ", text)


def _last(text: str, most: int, *, cut: bool) -> str:
    if len(text) <= most and not cut:
        return text.lstrip()
    kept = text[-most:]
    return "… " + (kept.partition(" ")[2] or kept)


def _first(text: str, most: int, *, cut: bool) -> str:
    if len(text) <= most and not cut:
        return text.rstrip()
    kept = text[:most]
    return (kept.rpartition(" ")[0] or kept) + " …"


def marked(text: str, words: str, most: int = 180) -> list[tuple[str, bool]]:
    """A line of a text around the first of some words, in pieces; True for what is one of the words."""
    wanted = sorted(filter(None, words.split()), key=len, reverse=True)
    line = snippet(text, wanted[0] if wanted else "")
    line = line if len(line) <= most + 4 else line[:most] + " …"
    if not wanted:
        return [(line, False)]
    pieces = re.split("(" + "|".join(map(re.escape, wanted)) + ")", line, flags=re.IGNORECASE)
    return [(piece, at % 2 == 1) for at, piece in enumerate(pieces) if piece]
