"""Office files that are zip archives: OpenDocument text, PowerPoint, Excel, and electronic books."""

from __future__ import annotations

import posixpath
import re
import zipfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, ClassVar, Final
from urllib.parse import unquote
from xml.etree import ElementTree

from sparc_search.errors import ReaderError, RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .archives import refuse_bombs, refuse_doctypes
from .builder import TextBuilder, title_from_name
from .decode import guessed, seekable
from .tables import COLUMNS, Cell, grid, head_and_rows

_NUMBER: Final = re.compile(r"\d+")


class ArchiveReader(Reader):
    """What these readers share: the archive is checked before it is read."""

    sandboxed: ClassVar[bool] = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The documents of the file."""
        file = seekable(stream)
        try:
            with zipfile.ZipFile(file) as archive:
                refuse_bombs(archive)
                refuse_doctypes(archive)
                yield from self.documents(archive, file, source)
        except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, ValueError) as error:
            raise RejectedDocument(f"damaged file: {error}", "open and save it again with its program") from error

    @abstractmethod
    def documents(self, archive: zipfile.ZipFile, file: BinaryIO, source: str) -> Iterator[Document]:
        """The documents of an archive that was checked."""


class OdtReader(ArchiveReader):
    """OpenDocument text (.odt): one document; headings become the title path."""

    suffixes = (".odt",)

    def documents(self, archive: zipfile.ZipFile, file: BinaryIO, source: str) -> Iterator[Document]:
        """The one document of the file."""
        builder = TextBuilder()
        _odt(builder, _xml(archive, "content.xml"), in_list=False)
        yield builder.build(source, source)


class PptxReader(ArchiveReader):
    """PowerPoint (.pptx): one document; each slide is a page, its title a heading."""

    suffixes = (".pptx",)

    def documents(self, archive: zipfile.ZipFile, file: BinaryIO, source: str) -> Iterator[Document]:
        """The one document of the file."""
        builder = TextBuilder()
        slides = [name for name in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", name)]
        for number, name in enumerate(sorted(slides, key=lambda name: int(_NUMBER.findall(name)[-1])), start=1):
            builder.page(number)
            for shape in _xml(archive, name).iter():
                if _tag(shape) == "sp":
                    _shape(builder, shape)
                elif _tag(shape) == "tbl":
                    rows = [
                        [Cell(_text(cell)) for cell in row if _tag(cell) == "tc"] for row in shape if _tag(row) == "tr"
                    ]
                    builder.table(*head_and_rows(rows))
        yield builder.build(source, source)


class EpubReader(ArchiveReader):
    """Electronic books (.epub): one document, its chapters in their order."""

    suffixes = (".epub",)

    def documents(self, archive: zipfile.ZipFile, file: BinaryIO, source: str) -> Iterator[Document]:
        """The chapters, each a document under the title of the book."""
        from .html import page

        container = _xml(archive, "META-INF/container.xml")
        place = next(node.attrib["full-path"] for node in container.iter() if _tag(node) == "rootfile")
        package = _xml(archive, place)
        title = next((node.text or "" for node in package.iter() if _tag(node) == "title"), "")
        files = {node.attrib["id"]: node.attrib["href"] for node in package.iter() if _tag(node) == "item"}
        chapters = [files[node.attrib["idref"]] for node in package.iter() if _tag(node) == "itemref"]
        for number, href in enumerate(chapters, start=1):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(href)))
            chapter = page(guessed(archive.read(name)).text, f"{source}#{number}")
            yield Document(
                chapter.id, chapter.text, title.strip() or title_from_name(source), source, {}, chapter.sections
            )


class XlsxReader(ArchiveReader):
    """Excel (.xlsx): one document; each sheet is a table under its name (needs the `office` extra)."""

    suffixes = (".xlsx",)

    def documents(self, archive: zipfile.ZipFile, file: BinaryIO, source: str) -> Iterator[Document]:
        """The one document of the file."""
        try:
            import openpyxl
        except ImportError as error:
            raise ReaderError("Excel files need openpyxl", "pip install 'sparc-search[office]'") from error
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        builder = TextBuilder()
        for sheet in book.worksheets:
            rows = [[Cell(_value(value)) for value in row[:COLUMNS]] for row in sheet.iter_rows(values_only=True)]
            filled = [row for row in rows if any(cell.text for cell in row)]
            if filled:
                builder.heading(2, sheet.title)
                builder.table(*head_and_rows(filled))
        yield builder.build(source, source)


odt, pptx, epub, xlsx = OdtReader(), PptxReader(), EpubReader(), XlsxReader()


def _xml(archive: zipfile.ZipFile, name: str) -> Any:
    return ElementTree.fromstring(archive.read(name))


def _tag(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]


def _text(node: Any) -> str:
    """All text below a node; a tab, a line break or a paragraph is a space."""
    parts = []
    for below in node.iter():
        parts.append(" " if _tag(below) in ("p", "h", "tab", "line-break", "br", "s") else "")
        parts.append(below.text or "")
        if below is not node:
            parts.append(below.tail or "")
    return " ".join("".join(parts).split())


def _odt(builder: TextBuilder, node: Any, in_list: bool) -> None:
    for below in node:
        match _tag(below):
            case "h":
                level = next((value for name, value in below.attrib.items() if name.endswith("outline-level")), "1")
                builder.heading(int(level) + 1, _text(below))
            case "p":
                builder.block(_text(below), "item" if in_list else "paragraph")
            case "table":
                builder.table(*head_and_rows(grid(_odt_rows(below))))
            case tag:
                _odt(builder, below, in_list or tag == "list")


def _odt_rows(table: Any) -> Iterator[list[Cell]]:
    for row in table.iter():
        if _tag(row) == "table-row":
            yield [Cell(_text(cell)) for cell in row if _tag(cell) in ("table-cell", "covered-table-cell")]


def _shape(builder: TextBuilder, shape: Any) -> None:
    kinds = [node.attrib.get("type", "") for node in shape.iter() if _tag(node) == "ph"]
    paragraphs = [text for node in shape.iter() if _tag(node) == "p" and (text := _text(node))]
    if kinds and kinds[0] in ("title", "ctrTitle"):
        builder.heading(2, " ".join(paragraphs))
    elif not kinds or kinds[0] not in ("sldNum", "ftr", "dt"):
        for text in paragraphs:
            builder.block(text, "item" if len(paragraphs) > 1 else "paragraph")


def _value(value: object) -> str:
    text = "" if value is None else str(value)
    return text.removesuffix(" 00:00:00")
