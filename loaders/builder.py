"""Putting a document's text together from blocks, headings and pages, and remembering where each stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from sparc_search import records
from sparc_search.errors import RejectedDocument
from sparc_search.records import BlockKind, Document, Section
from sparc_search.stored import values_of

from .compressed import inner_name
from .dates import first_date
from .limits import DOCUMENT_CHARACTERS

ARROW: Final = f" {records.ARROW} "
CELL_GAP: Final = " | "
"""Between two cells of a row, in the text of a document."""

_GAP: Final = "\n\n"
_FACT: Final = 200  # characters; what is longer is prose
_LINES: Final = frozenset(("item", "term", "head", "row"))  # such blocks stand on lines that follow each other


@dataclass(frozen=True, slots=True)
class _Mark:
    """Here begins a heading (level 1 and up), a block of some kind, or, at level 0 and of no kind, only a page."""

    start: int
    level: int
    heading: str
    page: int | None
    kind: BlockKind = ""


@dataclass(slots=True)
class TextBuilder:
    """Blocks become paragraphs and lines of one text; headings stand in it too. Sections beside it say what is what."""

    _parts: list[str] = field(default_factory=list)
    _marks: list[_Mark] = field(default_factory=list)
    _length: int = 0
    _page: int | None = None
    _last: BlockKind = ""

    def block(self, text: str, kind: BlockKind = "paragraph", under: str = "") -> None:
        """Add a block, which stands under a term or caption besides its heading; one that is empty adds nothing."""
        if text := text.rstrip().lstrip("\r\n") if kind == "code" else text.strip():
            start = self._append(text, "\n" if kind in _LINES and self._last in _LINES else _GAP)
            self._mark(start, kind, under)

    def table(
        self, head: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], caption: str = "", under: str = ""
    ) -> None:
        """Add a table; of a cell that spans several columns the others are empty."""
        if caption := " ".join(caption.split()):
            self.block(caption, "term", under)
        else:
            self._last = ""  # a table of its own, even if another one stands right before it
        for cells in head:
            self._row(cells, "head", caption or under)
        for cells in rows:
            self._row(cells, "row", caption or under)

    def heading(self, level: int, text: str) -> None:
        """Add a heading; what follows stands under it."""
        if text := " ".join(text.split()):
            start = self._append(text)
            self._marks.append(_Mark(start, max(1, level), text, self._page))
            self._last = ""

    def page(self, number: int) -> None:
        """From here on the text is on this page."""
        self._page, self._last = number, ""
        self._marks.append(_Mark(self._next_start(), 0, "", number))

    def facts(self, metadata: Mapping[str, str], body: str) -> None:
        """Add what could be the answer to a question and stands nowhere else: dates among the metadata."""
        for name, value in metadata.items():
            date = first_date(value)
            if date and date not in body and len(value) <= _FACT:
                self.block(f"{name.replace('_', ' ').capitalize()}: {', '.join(values_of(value))}")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added yet."""
        return not self._length

    def build(self, id: str, source: str, title: str = "", metadata: Mapping[str, str] | None = None) -> Document:
        """The document. Without a title its only top heading is the title, and failing that the file's name."""
        tops = [mark.heading for mark in self._marks if mark.level == 1]
        title = " ".join(title.split()) or (tops[0] if len(tops) == 1 else title_from_name(source))
        text = "".join(self._parts)
        return Document(id, text, title, source, dict(metadata or {}), self._sections(title, text))

    def _row(self, cells: Sequence[str], kind: BlockKind, under: str) -> None:
        cells = [" ".join(cell.split()) for cell in cells]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            return
        start = self._append(CELL_GAP.join(cells), "\n" if self._last in _LINES else _GAP)
        self._mark(start, kind, under)
        for cell in cells[:-1]:
            start += len(cell) + len(CELL_GAP)
            self._marks.append(_Mark(start, 0, "", self._page, "cell"))

    def _mark(self, start: int, kind: BlockKind, under: str) -> None:
        """Paragraphs are told by blank lines, so one is marked only where another kind of block ends."""
        if kind != "paragraph" or self._last not in ("", "paragraph") or under:
            self._marks.append(_Mark(start, 0, under, self._page, kind))
        self._last = kind

    def _append(self, text: str, gap: str = _GAP) -> int:
        start = self._next_start(gap)
        if start + len(text) > DOCUMENT_CHARACTERS:
            raise RejectedDocument(
                f"more than {DOCUMENT_CHARACTERS:,} characters of text", "split it into smaller documents"
            )
        self._parts.extend((gap, text) if start else (text,))
        self._length = start + len(text)
        return start

    def _next_start(self, gap: str = _GAP) -> int:
        return self._length + len(gap) if self._length else 0

    def _sections(self, title: str, text: str) -> tuple[Section, ...]:
        path: list[tuple[int, str]] = []  # level and heading, from the outermost in
        sections = []
        headings_at = [mark.start for mark in self._marks if mark.level]
        following = iter((*headings_at[1:], len(text)))
        for mark in self._marks:
            if mark.kind:
                sections.append(Section(mark.start, mark.heading, kind=mark.kind))
                continue
            if mark.level:
                path = [entry for entry in path if entry[0] < mark.level] + [(mark.level, mark.heading)]
            headings = [heading for _, heading in path if heading != title]
            until = next(following) if mark.level else mark.start
            skip = 0 if _only_here(mark.heading, text, mark.start, until) else len(mark.heading)
            sections.append(Section(mark.start, ARROW.join(headings), mark.page, skip))
        return tuple(sections)


def _only_here(heading: str, text: str, start: int, end: int) -> bool:
    """Whether a heading has a date that the text below it does not name: as text too, it can be an answer."""
    date = first_date(heading)
    return bool(date) and text.find(date, start + len(heading), end) < 0


def title_from_name(source: str) -> str:
    """A title for a file that has none: its name, without folder and ending, underscores as spaces."""
    return PurePosixPath(inner_name(source)).stem.replace("_", " ").strip()
