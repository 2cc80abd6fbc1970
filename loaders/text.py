"""Plain text: one file is one document, its text exactly as it stands in the file; a chat is one for each day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from sparc_search.reader import Reader
from sparc_search.records import Document

from . import chat
from .builder import title_from_name
from .decode import guessed, whole
from .limits import TEXT_BYTES


class TextReader(Reader):
    """Plain text: one document, paragraphs between blank lines."""

    suffixes = (".txt", ".text")
    furnished = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file; of a chat, one for each day."""
        found = guessed(whole(stream, TEXT_BYTES))
        if chat.is_chat(found.text):
            yield from chat.documents(chat.messages_of_lines(found.text), source, found.metadata)
            return
        yield Document(source, found.text, title_from_name(source), source, found.metadata)


reader = TextReader()
