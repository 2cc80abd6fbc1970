"""A document's content hash: what decides whether it must be encoded again."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from sparc_search.records import Document

from . import passages


def content_hash(document: Document, window: int) -> str:
    """Hash of text, title, sections, metadata and how it would be cut; where it came from does not matter."""
    digest = blake2b(digest_size=16)
    for part in _parts(document, window):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))  # so that no two lists of parts run together the same
        digest.update(data)
    return digest.hexdigest()


def _parts(document: Document, window: int) -> Iterator[str]:
    yield f"{passages.VERSION} {passages.SHORT} {window}"
    yield document.title
    yield document.text
    for section in document.sections:
        yield f"{section.start} {section.page} {section.skip} {section.heading}"
    for key, value in sorted(document.metadata.items()):
        yield key
        yield value
