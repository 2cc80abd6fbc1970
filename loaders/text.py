"""Plain text: one file is one document, its text exactly as it stands in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import title_from_name
from .decode import decoded, whole
from .limits import TEXT_BYTES


class TextReader(Reader):
    """Plain text: one document, paragraphs between blank lines."""

    suffixes = (".txt", ".text")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        yield Document(source, decoded(whole(stream, TEXT_BYTES)), title_from_name(source), source)


reader = TextReader()
