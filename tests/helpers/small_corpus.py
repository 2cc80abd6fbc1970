"""A handful of documents for the toy encoder, and how they get into a store without the ingest pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparc_search.interfaces import EncodedDocument, Encoder
from sparc_search.records import Document, Passage

ALPS = """The Eiger was first climbed in 1858 by Charles Barrington.

The Matterhorn was first climbed in 1865 by Edward Whymper. Seven men reached the summit."""

SEAS = "The Baltic Sea is shallow. The Caspian Sea has no outlet; it covers 371000 square kilometres."

DOCUMENTS = (
    Document("alps", ALPS, "Alps", "alps.md", {"kind": "mountains", "lang": "en"}),
    Document("seas", SEAS, "Seas", "seas.md", {"kind": "water", "lang": "en"}),
)


def encoded(document: Document, encoder: Encoder) -> EncodedDocument:
    """The document cut at empty lines and encoded."""
    passages, at = [], 0
    for number, text in enumerate(document.text.split("\n\n")):
        passages.append(
            Passage(
                f"{document.id}/{number}",
                document.id,
                number,
                text,
                at,
                document.title,
                document.source,
                metadata=document.metadata,
            )
        )
        at += len(text) + 2
    return EncodedDocument(document, f"hash of {document.text}", tuple(encoder.encode_passages(passages)))


def encode_all(documents: Iterable[Document], encoder: Encoder) -> list[EncodedDocument]:
    return [encoded(document, encoder) for document in documents]


def plain(id: str, text: str, metadata: Mapping[str, str] | None = None) -> Document:
    return Document(id, text, metadata=metadata or {})
