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
from .limits import JSON_BYTES, METADATA_CHARACTERS

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


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page."""

    text: str
    size: float = 0.0
    top: float = 0.0
    last: float = 0.0
    """The top of its last letter: lower, where a broken word was put together and two lines with it."""


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
        _add_page(builder, page, running, sizes)
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
                yield _Line(words, round(raw.FPDFText_GetFontSize(page.raw, first), 1), top, last)
            else:
                yield _Line(words)
        at += len(line) + 2


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


def _add_page(builder: TextBuilder, page: Sequence[_Line], running: frozenset[str], sizes: _Sizes) -> None:
    distances = sorted(above.last - below.top for above, below in pairwise(page) if above.last > below.top)
    usual = distances[len(distances) // 4] if distances else 0.0  # most lines of a page stand in paragraphs
    lines: list[_Line] = []
    heading: list[_Line] = []

    def end_block() -> None:
        if heading:
            builder.heading(sizes.level(heading[0]), " ".join(line.text for line in heading))
            heading.clear()
        if lines:
            kind: BlockKind = "item" if _BULLET.match(lines[0].text) else "paragraph"
            # A word broken at the end of a line would never be found again.
            builder.block(_HYPHEN.sub(r"\1", "\n".join(line.text for line in lines)), kind)
            lines.clear()

    for number, line in enumerate(page):
        if (number < _EDGE or number >= len(page) - _EDGE) and _without_numbers(line) in running:
            end_block()
            builder.block(line.text, "furniture")
        elif sizes.level(line):
            if lines or (heading and heading[-1].size != line.size):
                end_block()
            heading.append(line)
        else:
            if heading or (lines and (_BULLET.match(line.text) or _is_apart(lines, line, usual))):
                end_block()
            lines.append(line)
    end_block()


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
