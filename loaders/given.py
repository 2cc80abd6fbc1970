"""Documents that a program hands over itself: as records, as dicts, or as bare texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from sparc_search.errors import RejectedDocument
from sparc_search.records import Document

from . import fields
from .reading import Read
from .walk import Passed, Root

Given = Document | Mapping[str, Any] | str
"""A `Document`; a dict `{"id", "title", "text", "metadata"}`, of which only `text` must be there; or a text."""

_ROOT: Final = Root("program")
_REMEDY: Final = 'give {"id": …, "title": …, "text": …, "metadata": {…}}, of which only the text must be there'


def given(documents: Iterable[Given] | Given) -> Iterator[Read | Passed]:
    """Each document as the pipeline takes it; one that is none is a reject, and the others go on."""
    several: Iterable[object] = [documents] if isinstance(documents, Document | Mapping | str) else documents
    for number, item in enumerate(several, start=1):
        try:
            yield Read(_document(item), _ROOT)
        except RejectedDocument as reject:
            yield Passed("rejected", f"document {number}", reject.message, _REMEDY, _ROOT)


def _document(item: object) -> Document:
    if isinstance(item, Document):
        return replace(item, metadata=fields.metadata(item.metadata))
    if isinstance(item, str):
        return Document(_content_id(item), item)
    if isinstance(item, Mapping):
        document = fields.document(item, "", 0, {})
        if any(item.get(name) not in (None, "") for name in fields.ID):
            return document
        return replace(document, id=_content_id(json.dumps(dict(item), sort_keys=True, default=str)))
    raise RejectedDocument(f"a document is a text, a dict or a Document, not {type(item).__name__}")


def _content_id(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
