"""A passage in a few plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..records import Passage
from .plain import view_from

_SPACE = re.compile(r"\s+")
_SNIPPET = 160


@dataclass(frozen=True, slots=True)
class PassageFacts:
    """Which passage, and where it is from."""

    id: str
    document_id: str
    number: int
    title: str
    source: str
    page: int | None
    metadata: Mapping[str, str]
    text: str
    start: int
    """Character of the document at which it begins."""


def facts(passage: Passage) -> PassageFacts:
    """A passage as it is shown."""
    return view_from(PassageFacts, passage)


def snippet(text: str, around: str = "") -> str:
    """A line of a text: its beginning, or what stands around the first place of a word in it."""
    line = _SPACE.sub(" ", text).strip()
    at = line.casefold().find(around.casefold()) if around else 0
    begin = max(at - _SNIPPET // 3, 0)
    if begin:
        begin = line.find(" ", begin, at) + 1 or begin
    shown = line[begin : begin + _SNIPPET]
    cut = begin + _SNIPPET < len(line)
    return ("… " if begin else "") + (shown.rpartition(" ")[0] or shown if cut else shown) + (" …" if cut else "")
