"""PDF: one document with its pages kept, so that an answer can name its page.

PDFium gives lines in reading order, each with its place and the size of its letters: larger ones are headings, gaps end
paragraphs, and what stands at the edge of many pages is a running head. docs/benchmarks.md compares it with others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import BlockKind, Document

from .builder import TextBuilder
from .decode import whole
from .furniture import is_furniture
from .limits import JSON_BYTES, METADATA_CHARACTERS
from .pdf_places import Found, Word, Words
from .pdf_tables import tables
from .tables import Cell, head_and_rows

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

_HYPHEN: Final = re.compile(r"(\w)-\n(?=[a-z])")
_MENDED: Final = "\ufffe"  # how PDFium writes the hyphen of a word that it has put together again
_BULLET: Final = re.compile(r"(?:[•◦▪‣·●○■\u2013*-]|\(?(?:\d{1,2}|[a-z])[.)])\s+\S")
_NUMBER: Final = re.compile(r"\d+|\b[ivxlc]+\b")
_LARGER: Final = 1.12  # times the usual size of letters: a heading
_HEADING: Final = 150  # characters
_GAP: Final = 1.35  # times the usual distance of lines: a paragraph ends
_EDGE: Final = 2  # lines at the top and bottom of a page that can be running heads
_RUNNING: Final = 3  # pages that share one
_LEVELS: Final = 5
_WORD: Final = re.compile(r"[^\s\0]+")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page."""

    text: str
    size: float = 0.0
    top: float = 0.0
    last: float = 0.0
    """The top of its last letter: lower, where a broken word was put together and two lines with it."""
    words: tuple[Word, ...] = ()
    """Where each of its words stands."""


class PdfReader(Reader):
    """PDF: one document with its pages kept; scanned pages without text need OCR first."""

    suffixes = (".pdf",)
    furnished = True
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        import pypdfium2

        try:
            file = pypdfium2.PdfDocument(whole(stream, JSON_BYTES))
            yield _document(file, source)
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise RejectedDocument("needs a password", "save it without one") from error
            raise RejectedDocument(f"damaged PDF: {error}", "open and save it again with another program") from error


reader = PdfReader()


def _document(file: PdfDocument, source: str) -> Document:
    pages = [list(_lines(file[number].get_textpage())) for number in range(len(file))]
    if not any(pages):
        raise RejectedDocument(f"{len(file)} pages without text", "if it is a scan, run OCR on it first")
    builder = TextBuilder()
    running, sizes = _running_heads(pages), _Sizes(line for page in pages for line in page)
    for number, page in enumerate(pages, start=1):
        builder.page(number)
        _Page(builder, page, running, sizes).add()
    title, metadata = _information(file)
    return builder.build(source, source, title, metadata)


def _lines(page: PdfTextPage) -> Iterator[_Line]:
    from pypdfium2 import raw

    text, at = page.get_text_range(), 0
    exact = len(text) == page.count_chars()  # else characters cannot be counted by place, and no line has one
    for line in text.split("\r\n"):
        if words := " ".join(line.replace(_MENDED, "").replace("\0", "").split()):
            first = at + len(line) - len(line.lstrip())
            if exact:
                top, last = (page.get_charbox(place, loose=True)[3] for place in (first, at + len(line.rstrip()) - 1))
                size = round(raw.FPDFText_GetFontSize(page.raw, first), 1)
                placed = tuple(_words(page, line, at)) if top == last else ()
                yield _Line(words, size, top, last, placed)
            else:
                yield _Line(words)
        at += len(line) + 2


def _words(page: PdfTextPage, line: str, at: int) -> Iterator[Word]:
    """The words of a line that begins at a character of its page."""
    for match in _WORD.finditer(line):
        left = page.get_charbox(at + match.start(), loose=True)[0]
        right = page.get_charbox(at + match.end() - 1, loose=True)[2]
        yield Word(match[0].replace(_MENDED, ""), left, right)


class _Sizes:
    """Which sizes of letters are headings, and of which level."""

    def __init__(self, lines: Iterable[_Line]) -> None:
        letters: Counter[float] = Counter()
        for line in lines:
            letters[line.size] += len(line.text)
        self._usual = letters.most_common(1)[0][0] if letters else 0.0
        larger = sorted((size for size in letters if size > _LARGER * self._usual), reverse=True)
        self._levels = {size: min(level, _LEVELS) for level, size in enumerate(larger, start=2)}

    def level(self, line: _Line) -> int:
        """The level of a heading; 0 if the line is none."""
        is_text = any(character.isalpha() for character in line.text) and len(line.text) <= _HEADING
        return self._levels.get(line.size, 0) if self._usual and is_text else 0


def _running_heads(pages: Sequence[Sequence[_Line]]) -> frozenset[str]:
    """Lines that stand at the top or bottom of several pages, numbers aside; of two, left and right may differ."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update({_without_numbers(line) for line in (*page[:_EDGE], *page[-_EDGE:])})
    return frozenset(text for text, count in counts.items() if count >= _RUNNING)


def _without_numbers(line: _Line) -> str:
    return _NUMBER.sub("0", line.text)


class _Page:
    """Puts the lines of a page together to headings, paragraphs, items and tables."""

    def __init__(self, builder: TextBuilder, lines: Sequence[_Line], running: frozenset[str], sizes: _Sizes) -> None:
        self._builder, self._lines, self._running, self._sizes = builder, lines, running, sizes
        distances = sorted(above.last - below.top for above, below in pairwise(lines) if above.last > below.top)
        self._usual = distances[len(distances) // 4] if distances else 0.0  # most lines stand in paragraphs
        self._open: list[_Line] = []
        self._heading: list[_Line] = []

    def add(self) -> None:
        """Add all of it."""
        found = {
            table.first: table
            for table in tables([Words(line.words, line.size, line.top) for line in self._lines], self._is_text)
        }
        at = 0
        while at < len(self._lines):
            table = found.get(at)
            if table:
                self._table(table)
            else:
                self._line(at, self._lines[at])
            at = table.last if table else at + 1
        self._end_block()

    def _is_text(self, number: int) -> bool:
        """Whether a line may be one of a table: not if it is a heading, an item, or one of a table of contents."""
        line = self._lines[number]
        other = _BULLET.match(line.text) or is_furniture(line.text) or self._sizes.level(line)
        return bool(line.words) and not (other or self._is_running(number))

    def _is_running(self, number: int) -> bool:
        at_edge = number < _EDGE or number >= len(self._lines) - _EDGE
        return at_edge and _without_numbers(self._lines[number]) in self._running

    def _table(self, table: Found) -> None:
        self._end_block()
        if table.prose:
            for column in zip(*table.rows, strict=True):
                self._builder.block(_HYPHEN.sub(r"\1", "\n".join(line for line in column if line)))
        else:
            self._builder.table(*head_and_rows([[Cell(cell) for cell in row] for row in table.rows]))

    def _line(self, number: int, line: _Line) -> None:
        if self._is_running(number):
            self._end_block()
            self._builder.block(line.text, "furniture")
        elif self._sizes.level(line):
            if self._open or (self._heading and self._heading[-1].size != line.size):
                self._end_block()
            self._heading.append(line)
        else:
            begins = self._open and (_BULLET.match(line.text) or _is_apart(self._open, line, self._usual))
            if self._heading or begins:
                self._end_block()
            self._open.append(line)

    def _end_block(self) -> None:
        if self._heading:
            words = " ".join(line.text for line in self._heading)
            self._builder.heading(self._sizes.level(self._heading[0]), words)
        if self._open:
            kind: BlockKind = "item" if _BULLET.match(self._open[0].text) else "paragraph"
            # A word broken at the end of a line would never be found again.
            self._builder.block(_HYPHEN.sub(r"\1", "\n".join(line.text for line in self._open)), kind)
        self._heading, self._open = [], []


def _is_apart(lines: Sequence[_Line], line: _Line, usual: float) -> bool:
    """Whether a line begins a paragraph: below a gap, at the top of the next column, or in another size of letters."""
    before = lines[-1]
    distance = before.last - line.top
    if not usual:
        return False
    return distance > _GAP * usual or distance < -2 * usual or abs(before.size - line.size) > 0.15 * before.size


def _information(file: PdfDocument) -> tuple[str, dict[str, str]]:
    """Title and author as the file states them."""
    stated = {name: file.get_metadata_value(key) for name, key in (("title", "Title"), ("author", "Author"))}
    texts = {name: " ".join(value.split()) for name, value in stated.items() if len(value) <= METADATA_CHARACTERS}
    title = texts.pop("title", "")
    return title, {name: value for name, value in texts.items() if value}
