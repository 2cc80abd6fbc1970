"""Word documents: headings become sections; paragraphs, items and tables become blocks of text."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .archives import refuse_bombs, refuse_doctypes
from .builder import TextBuilder
from .decode import seekable
from .tables import COLUMNS, Cell, head_and_rows

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.table import Table
    from docx.text.paragraph import Paragraph


class DocxReader(Reader):
    """Word documents (.docx): one document; headings become the title path."""

    suffixes = (".docx",)
    furnished = True
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        import docx
        from docx.opc.exceptions import OpcError

        file = seekable(stream)
        try:
            with zipfile.ZipFile(file) as archive:
                refuse_bombs(archive)
                refuse_doctypes(archive)
            file.seek(0)
            word = docx.Document(file)
        except (zipfile.BadZipFile, OpcError, KeyError, ValueError) as error:
            raise RejectedDocument(f"damaged Word document: {error}", "open and save it again with Word") from error
        yield _document(word, source)


reader = DocxReader()


def _document(word: WordDocument, source: str) -> Document:
    from docx.text.paragraph import Paragraph

    builder = TextBuilder()
    for block in word.iter_inner_content():
        if isinstance(block, Paragraph):
            _paragraph(builder, block)
        else:
            builder.table(*head_and_rows(_rows(block)))
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
    elif style.startswith("List") or _is_numbered(paragraph):
        builder.block(paragraph.text, "item")
    else:
        builder.block(paragraph.text, "code" if "Code" in style or style == "HTML Preformatted" else "paragraph")


def _is_numbered(paragraph: Paragraph) -> bool:
    """Whether it has a number or a bullet of its own."""
    properties = paragraph._p.pPr
    return properties is not None and properties.numPr is not None


def _rows(table: Table) -> list[list[Cell]]:
    rows = []
    for row in table.rows:
        marked = row._tr.trPr is not None and bool(row._tr.trPr.xpath("w:tblHeader"))
        cells: list[Cell] = []
        before: object = None
        for cell in row.cells:  # a merged cell comes once for each place it covers
            merged = cell._tc is before
            cells.append(Cell("" if merged and not marked else " ".join(cell.text.split()), head=marked))
            before = cell._tc
        rows.append(cells[:COLUMNS])
    return rows
