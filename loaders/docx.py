"""Word documents: headings become sections; paragraphs and tables become text."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, BinaryIO, Final
from xml.parsers import expat

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import seekable
from .limits import EXPANSION, MEBIBYTE

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.table import Table
    from docx.text.paragraph import Paragraph

_UNPACKED_BYTES: Final = 512 * MEBIBYTE
_MEMBERS: Final = 10_000
_PIECE: Final = 64 * 1024


class DocxReader(Reader):
    """Word documents (.docx): one document; headings become the title path."""

    suffixes = (".docx",)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        import docx
        from docx.opc.exceptions import OpcError

        file = seekable(stream)
        try:
            with zipfile.ZipFile(file) as archive:
                _refuse_bombs(archive)
                _refuse_doctypes(archive)
            file.seek(0)
            word = docx.Document(file)
        except (zipfile.BadZipFile, OpcError, KeyError, ValueError) as error:
            raise RejectedDocument(f"damaged Word document: {error}", "open and save it again with Word") from error
        yield _document(word, source)


reader = DocxReader()


def _refuse_bombs(archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    unpacked, packed = sum(member.file_size for member in members), sum(member.compress_size for member in members)
    bomb = unpacked > MEBIBYTE and unpacked > EXPANSION * packed
    if bomb or unpacked > _UNPACKED_BYTES or len(members) > _MEMBERS:
        raise RejectedDocument(
            f"suspicious archive: {len(members):,} members, {packed:,} bytes become {unpacked:,}",
            "open and save it again with Word if you trust it",
        )


def _refuse_doctypes(archive: zipfile.ZipFile) -> None:
    """Word never writes one. Entities that it declares are not resolved, so text would be missing without a word."""
    for name in archive.namelist():
        if name.endswith((".xml", ".rels")):
            with archive.open(name) as member:
                _refuse_doctype(member, name)


def _refuse_doctype(member: IO[bytes], name: str) -> None:
    """Look at what stands before the first element, where a document type has its only place."""
    seen: list[str] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: seen.append("type")
    parser.StartElementHandler = lambda *_: seen.append("element")
    try:
        while not seen and (piece := member.read(_PIECE)):
            parser.Parse(piece)
    except expat.ExpatError:
        pass  # damaged, which is found out later, or cut off within the type
    if seen and seen[0] == "type":
        raise RejectedDocument(f"{name} in it declares a document type", "open and save it again with Word")


def _document(word: WordDocument, source: str) -> Document:
    from docx.text.paragraph import Paragraph

    builder = TextBuilder()
    for block in word.iter_inner_content():
        if isinstance(block, Paragraph):
            _paragraph(builder, block)
        else:
            builder.block("\n".join(_rows(block)))
    properties = word.core_properties
    metadata = {"author": properties.author} if properties.author else {}
    return builder.build(source, source, properties.title or "", metadata)


def _paragraph(builder: TextBuilder, paragraph: Paragraph) -> None:
    style = (paragraph.style.name or "") if paragraph.style else ""
    kind, _, level = style.partition(" ")
    if style == "Title":
        builder.heading(1, paragraph.text)
    elif kind == "Heading" and level.isdecimal():
        builder.heading(int(level) + 1, paragraph.text)  # below the title
    else:
        builder.block(paragraph.text)


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells: list[str] = []
        for cell in row.cells:  # a merged cell comes once for each place it covers
            text = " ".join(cell.text.split())
            if text and (not cells or cells[-1] != text):
                cells.append(text)
        if cells:
            yield " | ".join(cells)
