"""Documents and passages as rows of the database, there and back."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from ...records import Document, EncodedPassage, Passage, Section
from ...stored import EncodedDocument, StoredPassage
from .. import phrase_block
from ..features import as_features, decode_features
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


def read_documents(connection: sqlite3.Connection, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
    """Every document, or those of these ids, with all passages, by id."""
    for row, document, content_hash in read_whole_texts(connection, ids):
        yield EncodedDocument(document, content_hash, tuple(_encoded_passages(connection, row)))


def read_whole_texts(
    connection: sqlite3.Connection, ids: Sequence[str] | None = None
) -> Iterator[tuple[int, Document, str]]:
    """Row, document and content hash, by id. Every format so far has these columns."""
    columns = "row, content_hash, id, title, source, metadata, sections, text"
    for some in [None] if ids is None else chunks(sorted(set(ids))):
        only = "" if some is None else f"WHERE id IN ({marks(some)})"
        found = connection.execute(f"SELECT {columns} FROM documents {only} ORDER BY id", some or ())
        for row, content_hash, id, title, source, metadata, sections, text in found:
            body = zlib.decompress(text).decode("utf-8", "surrogatepass")
            marked = tuple(Section(*section) for section in json.loads(sections))
            yield row, Document(id, body, title, source, json.loads(metadata), marked), content_hash


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
        len(passage.text.split()),
    )


_COLUMNS = """
    p.id, d.id, p.number, p.text, p.start, p.title, coalesce(p.source, d.source), p.page,
    coalesce(p.metadata, d.metadata), p.joints
"""
_PASSAGES = "passages p JOIN documents d ON d.row = p.document"
_TABLES = f"{_PASSAGES} JOIN encoded e ON e.passage = p.row"


def read_passages(connection: sqlite3.Connection, ids: Sequence[str]) -> list[StoredPassage]:
    """Passages by id, in that order; those that are not there are left out."""
    found: dict[str, StoredPassage] = {}
    for some in chunks(ids):
        query = f"SELECT {_COLUMNS}, e.block FROM {_TABLES} WHERE p.id IN ({marks(some)})"
        for values in connection.execute(query, some):
            found[values[0]] = _stored(values, check=False)
    return [found[id] for id in ids if id in found]


def read_texts(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Passage]:
    """The same without their blocks."""
    found: dict[str, Passage] = {}
    for some in chunks(ids):
        query = f"SELECT {_COLUMNS} FROM {_PASSAGES} WHERE p.id IN ({marks(some)})"
        for values in connection.execute(query, some):
            found[values[0]] = _passage(values)
    return [found[id] for id in ids if id in found]


def read_blocks(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, bytes]:
    """The stored blocks of passages by id, in that order; those that are not there are left out."""
    found: dict[str, bytes] = {}
    for some in chunks(ids):
        query = (
            f"SELECT p.id, e.block FROM passages p JOIN encoded e ON e.passage = p.row WHERE p.id IN ({marks(some)})"
        )
        found.update(connection.execute(query, some))
    return {id: found[id] for id in ids if id in found}


def content_hashes(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The content hash of each document that is there."""
    found: dict[str, str] = {}
    for some in chunks(ids):
        found.update(connection.execute(f"SELECT id, content_hash FROM documents WHERE id IN ({marks(some)})", some))
    return found


def _encoded_passages(connection: sqlite3.Connection, document: int) -> Iterator[EncodedPassage]:
    query = f"SELECT {_COLUMNS}, e.block, e.features FROM {_TABLES} WHERE p.document = ? ORDER BY p.number"
    for *values, features in connection.execute(query, (document,)):
        stored = _stored(values, check=True)
        yield EncodedPassage(stored.passage, stored.block, as_features(decode_features(features)))


def _stored(values: Sequence[Any], *, check: bool) -> StoredPassage:
    *facts, block = values
    return StoredPassage(_passage(facts), phrase_block.decode(block, check=check))


def _passage(values: Sequence[Any]) -> Passage:
    id, document_id, number, text, start, title, source, page, metadata, joints = values
    return Passage(
        id, document_id, number, text, start, title, source, page, json.loads(metadata), tuple(json.loads(joints))
    )


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
