"""The line of a file at which a span of a passage stands, found by its words: readers take markup away."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from .records import Passage

_LARGEST: Final = 8_000_000
"""Bytes of a file in which a line is looked for."""

_AROUND: Final = 6
"""Words before and after an answer that tell its line."""

_WORD: Final = re.compile(r"\w+")
_BETWEEN: Final = r"(?:<[^<>]*+>|\\[nrtbf](?!\w)|[^\w<]|<)++(?:(?<=\\)[nrtbf])?"
"""What may stand between two words of a text in its file: white space, marks, tags, the `\\n` of JSON."""


def line_of(passage: Passage, start: int, end: int) -> int | None:
    """The line of its file at which a span of a passage begins; None if the file is not there, no text, or other."""
    if passage.page is not None:
        return None
    text = _text_of(passage.source)
    if not text:
        return None
    if text.startswith(passage.text, passage.start):  # the file is the document, as it stands
        return text.count("\n", 0, passage.start + start) + 1
    before, after = _WORD.findall(passage.text[:start]), _WORD.findall(passage.text[end:])
    span = _WORD.findall(passage.text[start:end])
    for around in (_AROUND, 2, 0):
        match = _find(text, before[-around:] if around else [], span, after[:around])
        if match is not None:
            return text.count("\n", 0, match) + 1
    return None


def _find(text: str, before: Sequence[str], span: Sequence[str], after: Sequence[str]) -> int | None:
    """Where these words stand one after the other, in whatever markup."""
    if not span:
        return None
    left = "".join(_written(word) + _BETWEEN for word in before)
    words = _BETWEEN.join(map(_written, [*span, *after]))
    match = re.search(rf"(?:\b|(?<=\\[nrtbf])){left}(?P<span>{words})\b", text)
    return match.start("span") if match else None


def _written(word: str) -> str:
    """A word as it may stand in a file: JSON may write what is not ASCII by its number."""
    return "".join(re.escape(letter) if letter.isascii() else _escaped(letter) for letter in word)


def _escaped(letter: str) -> str:
    numbers = re.sub("....", r"\\\\u\g<0>", letter.encode("utf-16-be", "surrogatepass").hex())
    return f"(?:{letter}|(?i:{numbers}))"


def _text_of(source: str) -> str:
    """The text of a file; empty if it is none, or too large."""
    try:
        facts = os.stat(source)
        whole = stat.S_ISREG(facts.st_mode) and facts.st_size <= _LARGEST
        return _read(os.path.abspath(source), facts.st_mtime_ns) if whole else ""
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=8)
def _read(path: str, changed: int) -> str:
    content = Path(path).read_bytes()
    return "" if b"\0" in content[:4096] else content.decode("utf-8", errors="replace")
