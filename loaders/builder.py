"""Putting a document's text together from blocks, headings and pages, and remembering where each stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from sparc_search.errors import RejectedDocument
from sparc_search.records import Document, Section

from .compressed import inner_name
from .limits import DOCUMENT_CHARACTERS

ARROW: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
_GAP: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class _Mark:
    """Here begins a heading (level 1 and up) or, at level 0, only a page."""

    start: int
    level: int
    heading: str
    page: int | None


@dataclass(slots=True)
class TextBuilder:
    """Blocks become paragraphs of one text; headings stand in it too, and as sections beside it."""

    _parts: list[str] = field(default_factory=list)
    _marks: list[_Mark] = field(default_factory=list)
    _length: int = 0
    _page: int | None = None

    def block(self, text: str) -> None:
        """Add a paragraph (or a list, or a table): one that is empty adds nothing."""
        if text := text.strip():
            self._append(text)

    def heading(self, level: int, text: str) -> None:
        """Add a heading; what follows stands under it."""
        if text := " ".join(text.split()):
            start = self._append(text)
            self._marks.append(_Mark(start, max(1, level), text, self._page))

    def page(self, number: int) -> None:
        """From here on the text is on this page."""
        self._page = number
        self._marks.append(_Mark(self._next_start(), 0, "", number))

    def build(self, id: str, source: str, title: str = "", metadata: Mapping[str, str] | None = None) -> Document:
        """The document. Without a title its only top heading is the title, and failing that the file's name."""
        tops = [mark.heading for mark in self._marks if mark.level == 1]
        title = " ".join(title.split()) or (tops[0] if len(tops) == 1 else title_from_name(source))
        return Document(id, "".join(self._parts), title, source, dict(metadata or {}), self._sections(title))

    def _append(self, text: str) -> int:
        start = self._next_start()
        if start + len(text) > DOCUMENT_CHARACTERS:
            raise RejectedDocument(
                f"more than {DOCUMENT_CHARACTERS:,} characters of text", "split it into smaller documents"
            )
        self._parts.extend((_GAP, text) if start else (text,))
        self._length = start + len(text)
        return start

    def _next_start(self) -> int:
        return self._length + len(_GAP) if self._length else 0

    def _sections(self, title: str) -> tuple[Section, ...]:
        path: list[tuple[int, str]] = []  # level and heading, from the outermost in
        sections = []
        for mark in self._marks:
            if mark.level:
                path = [entry for entry in path if entry[0] < mark.level] + [(mark.level, mark.heading)]
            headings = [heading for _, heading in path if heading != title]
            sections.append(Section(mark.start, ARROW.join(headings), mark.page, len(mark.heading)))
        return tuple(sections)


def title_from_name(source: str) -> str:
    """A title for a file that has none: its name, without folder and ending, underscores as spaces."""
    return PurePosixPath(inner_name(source)).stem.replace("_", " ").strip()
