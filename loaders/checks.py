"""What every document must be, whoever read it."""

from __future__ import annotations

from typing import Literal

from sparc_search.records import Document

from .limits import DOCUMENT_CHARACTERS

Complaint = tuple[Literal["rejected", "skipped"], str, str]


def complaint(document: Document) -> Complaint | None:
    """Why the document cannot be indexed: kind of outcome, reason, remedy. Nothing if it can."""
    if not document.id.strip():
        return "rejected", "a document without an id", "give it one, or leave the field out"
    if len(document.text) > DOCUMENT_CHARACTERS:
        return (
            "rejected",
            f"{len(document.text):,} characters of text, more than {DOCUMENT_CHARACTERS:,}",
            "split it into smaller documents",
        )
    if not _is_unicode(document):
        return "rejected", "text with half a surrogate pair, which is no character", "correct the \\ud8… in it"
    if not document.text.strip():
        return "skipped", "no text", ""
    return None


def _is_unicode(document: Document) -> bool:
    headings = (section.heading for section in document.sections)
    texts = (document.id, document.title, document.text, *document.metadata, *document.metadata.values(), *headings)
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        return False
    return True
