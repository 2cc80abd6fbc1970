"""Documents and passages as rows of the database, there and back."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from ...interfaces import StoredPassage
from ...records import Document, Passage, Section
from .. import phrase_block
from .features import decode_features
from .segment import Source

_MOST_PARAMETERS = 500


def chunks(items: Sequence[Any], size: int = _MOST_PARAMETERS) -> Iterator[Sequence[Any]]:
    """Pieces short enough for one statement."""
    return (items[i : i + size] for i in range(0, len(items), size))


def marks(items: Sequence[Any]) -> str:
    """`?,?,?` for as many items."""
    return ",".join("?" * len(items))


def document_values(document: Document, content_hash: str) -> tuple[Any, ...]:
    """The columns of a document but its row."""
    sections = json.dumps([astuple(section) for section in document.sections], ensure_ascii=False)
    text = zlib.compress(document.text.encode("utf-8", "surrogatepass"))
    return (document.id, document.title, document.source, _json(document.metadata), sections, content_hash, text)


def read_documents(connection: sqlite3.Connection) -> Iterator[tuple[int, str, Document]]:
    """Every document with its row and content hash, by id."""
    query = "SELECT row, content_hash, id, title, source, metadata, sections, text FROM documents ORDER BY id"
    for row, content_hash, id, title, source, metadata, sections, text in connection.execute(query):
        body = zlib.decompress(text).decode("utf-8", "surrogatepass")
        marked = tuple(Section(*section) for section in json.loads(sections))
        yield row, content_hash, Document(id, body, title, source, json.loads(metadata), marked)


def passage_values(passage: Passage, document: Document) -> tuple[Any, ...]:
    """The columns of a passage but its row, document and generation. What it shares with its document is left out."""
    return (
        passage.id,
        passage.number,
        passage.start,
        passage.page,
        passage.title,
        None if passage.source == document.source else passage.source,
        None if passage.metadata == document.metadata else _json(passage.metadata),
        json.dumps(passage.joints),
        passage.text,
    )


_PASSAGE = """
SELECT p.id, d.id, p.number, p.text, p.start, p.title, coalesce(p.source, d.source), p.page,
       coalesce(p.metadata, d.metadata), p.joints, e.block
FROM passages p JOIN documents d ON d.row = p.document JOIN encoded e ON e.passage = p.row
"""


def read_passages(connection: sqlite3.Connection, ids: Sequence[str]) -> list[StoredPassage]:
    """Passages by id, in that order; those that are not there are left out."""
    found: dict[str, StoredPassage] = {}
    for some in chunks(ids):
        for values in connection.execute(f"{_PASSAGE} WHERE p.id IN ({marks(some)})", some):
            found[values[0]] = _stored(values)
    return [found[id] for id in ids if id in found]


def passages_of(connection: sqlite3.Connection, document: int) -> list[StoredPassage]:
    """The passages of a document, by its row, in their order."""
    query = f"{_PASSAGE} WHERE p.document = ? ORDER BY p.number"
    return [_stored(values) for values in connection.execute(query, (document,))]


def _stored(values: Sequence[Any]) -> StoredPassage:
    id, document_id, number, text, start, title, source, page, metadata, joints, block = values
    passage = Passage(
        id, document_id, number, text, start, title, source, page, json.loads(metadata), tuple(json.loads(joints))
    )
    return StoredPassage(passage, phrase_block.decode(block, check=False))


def sources(connection: sqlite3.Connection, first: int, last: int) -> Iterator[Source]:
    """What a segment over these rows is made of."""
    query = """
        SELECT p.row, p.id, e.features, e.block FROM passages p JOIN encoded e ON e.passage = p.row
        WHERE p.row BETWEEN ? AND ? ORDER BY p.row
    """
    for row, id, features, data in connection.execute(query, (first, last)):
        block = phrase_block.decode(data)
        yield Source(row, id, decode_features(features), block.passage_vector, block.passage_scale)


def _json(metadata: Mapping[str, str]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False, sort_keys=True)
