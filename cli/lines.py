"""Lines of results in colours: wrapped between words on a terminal, plain in a pipe.

rich does the same and more, but its import takes longer than a question; tables and bars use it.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from .terminal import sanitise

_CODES: Final = {"bold": "1", "dim": "2", "reverse": "7"}
_COLOURS: Final = {"red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_WORDS: Final = re.compile(r" *[^ ]+| +")


class Part(NamedTuple):
    """A piece of a line: text that is fit for a terminal, and its style in rich's words, such as `bold green`."""

    text: str
    style: str = ""


def part(text: object, style: str = "") -> Part:
    """An untrusted string as a piece of a line."""
    return Part(sanitise(text), style)


def colours() -> bool:
    """Whether colours show on stdout; where they do not, marks must."""
    return _styles() and not os.environ.get("NO_COLOR")


def _terminal_width() -> int:
    from shutil import get_terminal_size

    return get_terminal_size().columns


def print_line(*parts: Part, indent: int = 0) -> None:
    """Print one line on stdout."""
    width = _terminal_width() if sys.stdout.isatty() else sys.maxsize
    for line in _wrapped(parts, max(width - indent, 20)):
        text = "".join(map(_painted, line)) if _styles() else "".join(part.text for part in line)
        sys.stdout.write(f"{' ' * indent}{text}\n" if text else "\n")


def _wrapped(parts: Iterable[Part], width: int) -> Iterator[list[Part]]:
    """The parts in lines of at most so many columns, broken before words."""
    line: list[Part] = []
    room = width
    for text, style in parts:
        for word in _WORDS.findall(text):
            if _columns(word) > room and line:
                yield line
                line, room, word = [], width, word.lstrip(" ")
            line.append(Part(word, style))
            room -= _columns(word)
    yield line


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else unicodedata.combining(c) == 0 for c in text)


def _painted(part: Part) -> str:
    known = {**_CODES, **_COLOURS} if colours() else _CODES
    codes = ";".join(known[word] for word in part.style.split() if word in known)
    return f"\x1b[{codes}m{part.text}\x1b[0m" if codes else part.text


def _styles() -> bool:
    shows = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
    return shows and os.environ.get("TERM") not in ("dumb", "unknown")
