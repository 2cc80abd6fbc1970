"""What a server would not take, said before it is sent."""

from __future__ import annotations

from collections.abc import Iterator

from ...stored import EncodedDocument, Refusal

LONGEST_ID = 8_000
"""Bytes. Servers take no term above 32,766."""


def complaint(encoded: EncodedDocument) -> Refusal | None:
    """Why a document cannot go to a server; nothing if it can."""
    document = encoded.document
    ids = (document.id, *(passage.passage.id for passage in encoded.passages))
    if any(len(id.encode("utf-8", "surrogatepass")) > LONGEST_ID for id in ids):
        return Refusal(document.id, f"its id has more than {LONGEST_ID:,} bytes", "give it a shorter one")
    if any(_is_broken(text) for text in _texts(encoded)):
        return Refusal(document.id, "it holds half characters, which have no bytes", "correct its encoding")
    return None


def _texts(encoded: EncodedDocument) -> Iterator[str]:
    document = encoded.document
    yield from (document.id, document.text, document.title, document.source)
    yield from (text for pair in document.metadata.items() for text in pair)
    yield from (section.heading for section in document.sections)
    for passage in encoded.passages:
        one = passage.passage
        yield from (one.id, one.text, one.title, one.source)
        yield from (text for pair in one.metadata.items() for text in pair)
        yield from (name for values in passage.features.values() for name in values)


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
