"""The line of a file at which a span of a passage stands, found by its words: readers take markup away."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from .records import Passage

ENCODING: Final = "encoding"
"""The metadata of a document that was not UTF-8 name its encoding here."""

_LARGEST: Final = 8_000_000
"""Bytes of a file in which a line is looked for."""

_AROUND: Final = 6
"""Words before and after an answer that tell its line."""
_WIDEST: Final = 200
"""Characters in which these words are looked for."""

_TELLING: Final = 3
"""Words beside an answer that tell its line, where its own are written in another way in the file,"""
_FARTHEST: Final = 8
"""with at most so many between them and it."""

_WORD: Final = re.compile(r"\w+")
_LATEX: Final = (".tex", ".latex")
_MACRO: Final = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|def|DeclareMathOperator)(?![A-Za-z])[^\n]*|\\[A-Za-z@]+\*?"
)
"""A line that defines a macro, and the name of any other: neither is text."""
_GAP: Final = re.compile(r"[\s.,;:!?)\]}\"']*")
_BETWEEN: Final = r"(?:<[^<>]*+>|\\[nrtbf](?!\w)|[^\w<]|<)++(?:(?<=\\)[nrtbf])?"
"""What may stand between two words of a text in its file: white space, marks, tags, the `\\n` of JSON."""


def line_of(passage: Passage, start: int, end: int) -> int | None:
    """The line of its file at which a span of a passage begins; None if the file is not there, no text, or other."""
    if passage.page is not None:
        return None
    text = _text_of(passage.source, passage.metadata.get(ENCODING, ""))
    if not text:
        return None
    if text.startswith(passage.text, passage.start):  # the file is the document, as it stands
        return text.count("\n", 0, passage.start + start) + 1
    place = _as_written(text, passage.text, start, end)
    if place is not None:
        return text.count("\n", 0, place) + 1
    before, after = _WORD.findall(passage.text[:start]), _WORD.findall(passage.text[end:])
    span = _WORD.findall(passage.text[start:end])
    for left, right in ((_AROUND, _AROUND), (2, 2), (_AROUND, 0), (0, _AROUND)):
        match = _find(text, before[-left:] if left else [], span, after[:right])
        if match is not None:
            return text.count("\n", 0, match) + 1
    begin, stop, beside = _beside(text, before, after)
    place = _find(text[begin:stop], [], span, [])
    place = beside if place is None else begin + place
    return None if place is None else text.count("\n", 0, place) + 1


def _as_written(text: str, passage: str, start: int, end: int) -> int | None:
    """Where the span stands among the same words with the same marks between them: no pattern need be made for that."""
    span = [(word.start(), word.end()) for word in _WORD.finditer(passage, start, end)]
    if not span:
        return None
    before = [word.start() for word in _WORD.finditer(passage, max(0, start - _WIDEST), start)]
    after = [word.end() for word in islice(_WORD.finditer(passage, end, end + _WIDEST), _AROUND)]
    left, right = [*before, span[0][0]][-_AROUND - 1 :][0], [span[-1][1], *after][-1]
    at = text.find(passage[left:right])
    behind = at + right - left
    if at < 0 or _WORD.match(text[at - 1 : at]) or _WORD.match(text[behind : behind + 1]):
        return None
    return at + span[0][0] - left


def _find(text: str, before: Sequence[str], span: Sequence[str], after: Sequence[str]) -> int | None:
    """Where these words stand one after the other, in whatever markup."""
    if not span:
        return None
    left = "".join(_written(word) + _BETWEEN for word in before)
    words = _BETWEEN.join(map(_written, [*span, *after]))
    match = re.search(rf"(?:\b|(?<=\\[nrtbf])){left}(?P<span>{words})\b", text)
    return match.start("span") if match else None


def _beside(text: str, before: Sequence[str], after: Sequence[str]) -> tuple[int, int, int | None]:
    """Where the span must stand if it, or a word next to it, is written in another way (a macro, an entity).

    From where to where, and the likeliest place. Of the words before and after it those count that are nearest and
    stand together only once; if there are none, it may be anywhere.
    """
    for apart in range(_FARTHEST):
        last = len(before) - apart
        if last >= _TELLING and (found := _only(text, before[last - _TELLING : last])):
            gap = _GAP.match(text, found[1])
            return found[1], found[1] + _WIDEST, gap.end() if gap and not apart else found[1]
        if len(after) >= apart + _TELLING and (found := _only(text, after[apart : apart + _TELLING])):
            begin = max(0, found[0] - _WIDEST)
            return begin, found[0], found[0] if apart else max(0, len(text[begin : found[0]].rstrip()) + begin - 1)
    return 0, len(text), None


def _only(text: str, words: Sequence[str]) -> tuple[int, int] | None:
    """The one place at which these words stand; None if there is none, or more."""
    found = list(islice(re.finditer(rf"\b{_BETWEEN.join(map(_written, words))}\b", text), 2))
    return found[0].span() if len(found) == 1 else None


def _written(word: str) -> str:
    """A word as it may stand in a file: JSON may write what is not ASCII by its number."""
    return "".join(re.escape(letter) if letter.isascii() else _escaped(letter) for letter in word)


def _escaped(letter: str) -> str:
    numbers = re.sub("....", r"\\\\u\g<0>", letter.encode("utf-16-be", "surrogatepass").hex())
    return f"(?:{letter}|(?i:{numbers}))"


def _text_of(source: str, encoding: str) -> str:
    """The text of a file; empty if it is none, or too large."""
    try:
        facts = os.stat(source)
        whole = stat.S_ISREG(facts.st_mode) and facts.st_size <= _LARGEST
        return _read(os.path.abspath(source), facts.st_mtime_ns, encoding) if whole else ""
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=8)
def _read(path: str, changed: int, encoding: str) -> str:
    content = Path(path).read_bytes()
    with suppress(LookupError, UnicodeDecodeError):  # front matter may say anything
        if encoding:
            return content.decode(encoding)
    text = "" if b"\0" in content[:4096] else content.decode("utf-8", errors="replace")
    return _MACRO.sub("", text) if path.lower().endswith(_LATEX) else text
