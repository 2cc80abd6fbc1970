"""Documents and passages as rows of the database, there and back."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records import Document, EncodedPassage, Passage, Section
from ...stored import EncodedDocument, StoredPassage
from .. import phrase_block
from ..features import as_features, decode_features
from ..phrase_block_batch import decode_batch
from .segment import Source

_MOST_PARAMETERS = 500


def chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Pieces short enough for one statement."""
    return (items[i : i + _MOST_PARAMETERS] for i in range(0, len(items), _MOST_PARAMETERS))


def select(connection: sqlite3.Connection, query: str, ids: Sequence[Any]) -> Iterator[Any]:
    """The rows of a query that ends with `column IN`, for as many ids as there are."""
    for some in chunks(ids):
        yield from connection.execute(f"{query} ({marks(some)})", some)


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
    query = f"SELECT {_COLUMNS}, e.block FROM {_TABLES} WHERE p.id IN"
    found = {values[0]: _stored(values, check=False) for values in select(connection, query, ids)}
    return [found[id] for id in ids if id in found]


def read_texts(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Passage]:
    """Passages without their blocks, by id, in that order; those that are not there are left out."""
    query = f"SELECT {_COLUMNS} FROM {_PASSAGES} WHERE p.id IN"
    found = {values[0]: _passage(values) for values in select(connection, query, ids)}
    return [found[id] for id in ids if id in found]


def read_blocks(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, bytes]:
    """The stored blocks of passages by id, in that order; those that are not there are left out."""
    query = "SELECT p.id, e.block FROM passages p JOIN encoded e ON e.passage = p.row WHERE p.id IN"
    found: dict[str, bytes] = dict(select(connection, query, ids))
    return {id: found[id] for id in ids if id in found}


def content_hashes(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The content hash of each document that is there."""
    return dict(select(connection, "SELECT id, content_hash FROM documents WHERE id IN", ids))


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
        block = decode_batch([data], check=True)
        yield Source(row, id, decode_features(features), block.passage_vectors[0], float(block.passage_scales[0]))


def tombstones(connection: sqlite3.Connection) -> NDArray[np.int64]:
    """The rows of passages that were deleted and still stand in a segment, ascending."""
    return rows_of(connection, "SELECT row FROM tombstones ORDER BY row")


def rows_of(connection: sqlite3.Connection, query: str, parameters: Sequence[Any] = ()) -> NDArray[np.int64]:
    """What a query for one number a row finds."""
    return np.array([row for (row,) in connection.execute(query, parameters)], np.int64)


def _json(metadata: Mapping[str, str]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False, sort_keys=True)
