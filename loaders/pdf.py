"""PDF: one document, each page a section of its own, so that an answer can name its page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import seekable
from .limits import METADATA_CHARACTERS

if TYPE_CHECKING:
    from pypdf import PdfReader as PypdfReader

_HYPHEN: Final = re.compile(r"(\w)-\n(?=[a-z])")


class PdfReader(Reader):
    """PDF: one document with its pages kept; scanned pages without text need OCR first."""

    suffixes = (".pdf",)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        from pypdf.errors import PyPdfError

        try:
            yield _document(seekable(stream), source)
        except PyPdfError as error:
            raise RejectedDocument(f"damaged PDF: {error}", "open and save it again with another program") from error


reader = PdfReader()


def _document(stream: BinaryIO, source: str) -> Document:
    import pypdf

    file = pypdf.PdfReader(stream)
    if file.is_encrypted and not file.decrypt(""):
        raise RejectedDocument("needs a password", "save it without one")
    builder = TextBuilder()
    for number, page in enumerate(file.pages, start=1):
        builder.page(number)
        # A word broken at the end of a line would never be found again.
        builder.block(_HYPHEN.sub(r"\1", page.extract_text()))
    title, metadata = _information(file)
    document = builder.build(source, source, title, metadata)
    if not document.text and len(file.pages):
        raise RejectedDocument(f"{len(file.pages)} pages without text", "if it is a scan, run OCR on it first")
    return document


def _information(file: PypdfReader) -> tuple[str, dict[str, str]]:
    """Title and author as the file states them; what is not text there is left out."""
    found: Mapping[str, object] = file.metadata or {}
    stated = {name: found.get(key) for name, key in (("title", "/Title"), ("author", "/Author"))}
    texts = {
        name: " ".join(value.split())
        for name, value in stated.items()
        if isinstance(value, str) and len(value) <= METADATA_CHARACTERS
    }
    title = texts.pop("title", "")
    return title, {name: value for name, value in texts.items() if value}
