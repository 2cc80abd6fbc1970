"""The text of a place: a section of a page, a part of a text, a page of a PDF.

Written for checking, apart from the readers that are measured: what they leave out or take apart must not decide
whether a question is fair.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from sparc_search.errors import NotThere

from .judging import plain
from .records import Place

_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_UNSEEN: Final = frozenset(("script", "style", "head"))
_INLINE: Final = frozenset((
    "a", "abbr", "acronym", "b", "big", "cite", "code", "dfn", "em", "font", "i", "kbd", "mark", "q", "s", "samp",
    "small", "span", "strong", "sub", "sup", "tt", "u", "var", "wbr",
))  # fmt: skip
_RULE: Final = re.compile(r"^={20,}$")
_CAPITALS: Final = re.compile(r"^[A-Z][A-Z ,?!']{3,}$")
_NUMBERED: Final = re.compile(r"^ {0,2}((?:\d+|[A-Z])(?:\.\d+)*)\.? +[A-Z]")
Line = tuple[int, str]
"""The level of a heading (0: an ordinary line), and its text."""


def place_text(place: Place, corpus: Path) -> str:
    """What stands there, as plain text; `NotThere` if there is no such place."""
    path = place.path(corpus)
    if place.page is not None:
        return _pages(path)[place.page - 1]
    lines = _lines(path)
    begin = next((n for n, line in enumerate(lines) if _is_heading(line, place.heading)), None)
    if begin is None:
        raise NotThere(f"{place.file} has no heading {place.heading!r}", "correct the question's `heading`")
    level = lines[begin][0]
    end = next((n for n in range(begin + 1, len(lines)) if 0 < lines[n][0] <= level), len(lines))
    return plain("\n".join(text for _, text in lines[begin:end]))


def whole_text(path: Path) -> str:
    """The whole file as plain text."""
    return " ".join(_pages(path)) if path.suffix == ".pdf" else plain("\n".join(text for _, text in _lines(path)))


def headings(path: Path) -> list[str]:
    """The headings of a page or text, in their order."""
    return [_heading_text(text) for level, text in _lines(path) if level]


def _is_heading(line: Line, heading: str) -> bool:
    return line[0] > 0 and _heading_text(line[1]) == plain(heading)


def _heading_text(text: str) -> str:
    return plain(text).rstrip("¶# ").strip()


@cache
def _lines(path: Path) -> list[Line]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = _decoded(data)
    if ".html" in path.suffixes:
        page = _Page()
        page.feed(text)
        page.close()
        return _with_tags(page.lines())
    title, *others = [line for line in text.splitlines() if line.strip()]
    return [(1, title), *((_numbered_level(line), line) for line in others)]


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _numbered_level(line: str) -> int:
    found = _NUMBERED.match(line)
    return found[1].count(".") + 2 if found else 0


def _with_tags(lines: list[Line]) -> list[Line]:
    """Vim's help is one text in a page: a heading follows a ruled line (its name may be `*02.1*`) or is in capitals."""
    if not any(_RULE.match(text) for _, text in lines):
        return lines
    marked, after_rule = list[Line](), False
    for level, text in lines:
        if _RULE.match(text):
            after_rule = True
        elif after_rule:
            marked.append((2, re.sub(r"\s*\*\S+\*", "", re.sub(r"^\*([\d.]+)\*\s*", r"\1 ", text))))
            after_rule = False
        else:
            marked.append((3 if _CAPITALS.match(text) else level, text))
    return marked


class _Page(HTMLParser):
    """Headings with their level, and everything else, a line for each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._found: list[Line] = []
        self._text: list[str] = []
        self._level = self._unseen = self._verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag not in _INLINE:
            self._end_line()
            self._level = _LEVELS.get(tag, self._level)
            self._verbatim += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag not in _INLINE:
            self._end_line()
            self._level = 0 if tag in _LEVELS else self._level
            self._verbatim = max(0, self._verbatim - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._text.append(data)

    def lines(self) -> list[Line]:
        self._end_line()
        return self._found

    def _end_line(self) -> None:
        text, self._text = "".join(self._text), []
        lines = text.split("\n") if self._verbatim else [text]
        self._found.extend((self._level, " ".join(line.split())) for line in lines if line.strip())


@cache
def _pages(path: Path) -> list[str]:
    from pypdfium2 import PdfDocument

    with PdfDocument(path) as document:
        return [plain(_joined(page.get_textpage().get_text_range().replace("\r\n", "\n"))) for page in document]


def _joined(text: str) -> str:
    """A word that is broken at the end of a line is one word."""
    return re.sub(r"(\w)-\n(?=[a-z])", r"\1", text)
