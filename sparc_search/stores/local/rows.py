"""Documents and passages as rows of the database, there and back."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import IndexDamaged
from ...records import Document, EncodedPassage, Passage, Section
from ...stored import EncodedDocument, StoredPassage
from .. import phrase_block
from ..borders import pack_alignment, plain_borders, read_borders, unpack_alignment
from ..features import as_features, decode_features
from ..phrase_block_batch import decode_batch
from .checksums import changed, crc
from .segment import Source

_MOST_PARAMETERS = 500


def chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Pieces short enough for one statement."""
    return (items[i : i + _MOST_PARAMETERS] for i in range(0, len(items), _MOST_PARAMETERS))


def select(connection: sqlite3.Connection, query: str, ids: Sequence[Any]) -> Iterator[Any]:
    """The rows of a query that ends with `column IN`, for as many ids as there are."""
    for some in chunks(ids):
        yield from connection.execute(f"{query} ({marks(some)})", some).fetchall()


def marks(items: Sequence[Any]) -> str:
    """`?,?,?` for as many items."""
    return ",".join("?" * len(items))


def columns(names: str, table: str = "") -> str:
    """SQL: these columns."""
    return ", ".join(f"{table}{name}" for name in names.split())


def sum_of(names: str, table: str = "") -> str:
    """SQL: the checksum that these columns should have."""
    return f"crc({columns(names, table)})"


# What one checksum covers, in this order.
DOCUMENT: Final = "row id title source metadata content_hash"
DOCUMENT_TEXT: Final = "row sections text"
PASSAGE: Final = (
    "row id document number start page title source metadata borders words generation text encoded_text alignment"
)

PASSAGE_COVERED: Final = ("passages", PASSAGE, "checksum")
TAGS_COVERED: Final = ("tag_counts", "key value passages rows", "checksum")
BATCHES_COVERED: Final = ("batches", "generation arithmetic version date", "checksum")
COVERED: Final = (
    ("documents", DOCUMENT, "checksum"),
    ("documents", DOCUMENT_TEXT, "text_checksum"),
    PASSAGE_COVERED,
    ("frequencies", "name passages", "checksum"),
    TAGS_COVERED,
    ("segments", "name first last passages files", "checksum"),
    BATCHES_COVERED,
)
"""Table, columns, and the column of their checksum. Those of `encoded` cover the id of the passage, too."""


def unlike(
    connection: sqlite3.Connection, covered: tuple[str, str, str], where: str = "", parameters: Sequence[Any] = ()
) -> Iterator[dict[str, Any]]:
    """Rows of a table whose checksum does not fit, by column. Not in SQL, which cannot read a text that is none."""
    table, names, checksum = covered
    query = f"SELECT {columns(names)}, {checksum} FROM {table} {where}"
    for *values, expected in connection.execute(query, parameters):
        if crc(*values) != expected:
            yield dict(zip(names.split(), values, strict=True))


# --- documents -------------------------------------------------------------------------------------------------------


def insert_document(connection: sqlite3.Connection, row: int, document: Document, content_hash: str) -> None:
    """Write a document."""
    sections = json.dumps([astuple(section) for section in document.sections], ensure_ascii=False)
    text = zlib.compress(document.text.encode("utf-8", "surrogatepass"))
    facts = (row, document.id, document.title, document.source, _json(document.metadata), content_hash)
    query = f"INSERT INTO documents ({columns(DOCUMENT)}, sections, text, checksum, text_checksum)"
    values = (*facts, sections, text, crc(*facts), crc(row, sections, text))
    connection.execute(f"{query} VALUES ({marks(values)})", values)


def read_documents(connection: sqlite3.Connection, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
    """Every document, or those of these ids, with all passages, by id."""
    for row, document, content_hash in read_whole_texts(connection, ids):
        passages = tuple(_encoded_passages(connection, row))
        yield EncodedDocument(document, content_hash, passages, _arithmetic(connection, row))


def _arithmetic(connection: sqlite3.Connection, document: int) -> str:
    """By which arithmetic a document was encoded; empty if its write knew none, or several."""
    query = (
        "SELECT arithmetic FROM batches WHERE generation = (SELECT max(generation) FROM passages WHERE document = ?)"
    )
    made_by = connection.execute(query, (document,)).fetchall()
    return str(made_by[0][0]) if len(made_by) == 1 else ""


def read_whole_texts(
    connection: sqlite3.Connection, ids: Sequence[str] | None = None, *, older: bool = False
) -> Iterator[tuple[int, Document, str]]:
    """Row, document and content hash, by id. Every format so far has these columns; older ones have no checksums."""
    wanted = f"{columns(DOCUMENT)}, sections, text" + ("" if older else ", checksum, text_checksum")
    for some in [None] if ids is None else chunks(sorted(set(ids))):
        only = "" if some is None else f"WHERE id IN ({marks(some)})"
        for values in connection.execute(f"SELECT {wanted} FROM documents {only} ORDER BY id", some or ()):
            *facts, sections, text = values if older else values[:-2]
            row, id, title, source, metadata, content_hash = facts
            if not older and values[-2:] != (crc(*facts), crc(row, sections, text)):
                raise changed_text(id)
            body = zlib.decompress(text).decode("utf-8", "surrogatepass")
            marked = tuple(Section(*section) for section in json.loads(sections))
            yield row, Document(id, body, title, source, json.loads(metadata), marked), content_hash


def changed_text(id: str) -> IndexDamaged:
    """The error for a document whose text, or what belongs to it, is not what was written."""
    return IndexDamaged(
        f"document {id!r} has changed bytes in the database",
        "ingest it again, or restore the index from a backup (`sparc-search index restore`)",
    )


# --- passages --------------------------------------------------------------------------------------------------------


def passage_values(passage: Passage, document: Document) -> tuple[Any, ...]:
    """The columns of a passage in the order of `PASSAGE`, without row, document and generation.

    What it shares with its document is left out.
    """
    return (
        passage.id,
        passage.number,
        passage.start,
        passage.page,
        passage.title,
        None if passage.source == document.source else passage.source,
        None if passage.metadata == document.metadata else _json(passage.metadata),
        json.dumps(plain_borders(passage.borders)),
        len(passage.text.split()),
        passage.text,
        passage.encoded_text,
        pack_alignment(passage.alignment),
    )


def insert_passage(
    connection: sqlite3.Connection, row: int, document: int, generation: int, values: Sequence[Any]
) -> None:
    """Write a passage, of which `values` are what `passage_values` gave."""
    whole = (row, values[0], document, *values[1:9], generation, *values[9:])
    query = f"INSERT INTO passages ({columns(PASSAGE)}, checksum) VALUES ({marks(whole)}, ?)"
    connection.execute(query, (*whole, crc(*whole)))


def insert_encoded(connection: sqlite3.Connection, row: int, id: str, block: bytes, features: bytes) -> None:
    """Write what the model made of a passage. Whoever finds it by another passage's row finds that it does not fit."""
    query = "INSERT INTO encoded (passage, block, features, block_checksum, features_checksum) VALUES (?, ?, ?, ?, ?)"
    connection.execute(query, (row, block, features, crc(id, block), crc(id, features)))


_SHOWN = f"{columns(PASSAGE, 'p.')}, p.checksum, {columns(DOCUMENT, 'd.')}, d.checksum"
_OWNER = len(PASSAGE.split()) + 1
_PASSAGES = "passages p JOIN documents d ON d.row = p.document"


def read_passages(connection: sqlite3.Connection, ids: Sequence[str]) -> list[StoredPassage]:
    """Passages by id, in that order; those that are not there are left out."""
    blocks = read_blocks(connection, ids)
    passages = read_texts(connection, list(blocks))
    return [StoredPassage(passage, phrase_block.decode(blocks[passage.id], check=False)) for passage in passages]


def read_texts(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Passage]:
    """Passages without their blocks, by id, in that order; those that are not there are left out."""
    query = f"SELECT {_SHOWN} FROM {_PASSAGES} WHERE p.id IN"
    by_id = {values[1]: _passage(values) for values in select(connection, query, ids)}
    return [by_id[id] for id in ids if id in by_id]


def read_blocks(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, bytes]:
    """The stored blocks of passages by id, in that order; those that are not there are left out."""
    query = "SELECT p.id, e.block, e.block_checksum FROM passages p JOIN encoded e ON e.passage = p.row WHERE p.id IN"
    by_id = {id: checked(id, block, checksum) for id, block, checksum in select(connection, query, ids)}
    return {id: by_id[id] for id in ids if id in by_id}


def checked(id: str, data: bytes, checksum: int) -> bytes:
    """The block or the features of a passage, which are these and no other's."""
    if crc(id, data) != checksum:
        raise changed(f"what is encoded of passage {id!r}")
    return data


def read_frequencies(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, int]:
    """In how many passages each of these terms stands; those that stand in none are left out."""
    query = "SELECT name, passages, checksum FROM frequencies WHERE name IN"
    counted = list(select(connection, query, names))
    for name, passages, checksum in counted:
        if crc(name, passages) != checksum:
            raise changed(f"the number of passages with {name!r}")
    return {name: passages for name, passages, _ in counted}


def tagged(connection: sqlite3.Connection, key: str, value: str) -> NDArray[np.int64]:
    """The rows of the passages with a piece of metadata, ascending: as many as were counted."""
    query = "SELECT passage FROM tags WHERE key = ? AND value = ? ORDER BY passage"
    found = rows_of(connection, query, (key, value))
    where = "WHERE key = ? AND value = ?"
    counted = connection.execute(f"SELECT passages, rows FROM tag_counts {where}", (key, value)).fetchone() or (0, 0)
    if counted != (len(found), int(found.sum())) or any(unlike(connection, TAGS_COVERED, where, (key, value))):
        raise changed(f"the list of passages with {key}={value}")
    return found


def content_hashes(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The content hash of each document that is there."""
    return dict(select(connection, "SELECT id, content_hash FROM documents WHERE id IN", ids))


def _encoded_passages(connection: sqlite3.Connection, document: int) -> Iterator[EncodedPassage]:
    query = f"""
        SELECT {_SHOWN}, e.block, e.block_checksum, e.features, e.features_checksum
        FROM {_PASSAGES} JOIN encoded e ON e.passage = p.row WHERE p.document = ? ORDER BY p.number
    """
    for *values, block, block_checksum, features, features_checksum in connection.execute(query, (document,)):
        passage = _passage(values)
        decoded = phrase_block.decode(checked(passage.id, block, block_checksum), check=False)
        names = decode_features(checked(passage.id, features, features_checksum))
        yield EncodedPassage(passage, decoded, as_features(names))


def _passage(values: Sequence[Any]) -> Passage:
    """A passage from the columns of `_SHOWN`; `IndexDamaged` if a byte of them has changed."""
    own, owner = values[:_OWNER], values[_OWNER:]
    passage = dict(zip(PASSAGE.split(), own, strict=False))
    document = dict(zip(DOCUMENT.split(), owner, strict=False))
    if crc(*own[:-1]) != own[-1]:
        raise changed(f"passage {passage['id']!r}")
    if crc(*owner[:-1]) != owner[-1] or document["row"] != passage["document"]:
        raise changed_text(document["id"])
    source, metadata = (document[n] if passage[n] is None else passage[n] for n in ("source", "metadata"))
    return Passage(
        passage["id"],
        document["id"],
        passage["number"],
        passage["text"],
        passage["start"],
        passage["title"],
        source,
        passage["page"],
        json.loads(metadata),
        read_borders(json.loads(passage["borders"])),
        passage["encoded_text"],
        unpack_alignment(passage["alignment"]),
    )


def sources(connection: sqlite3.Connection, first: int, last: int) -> Iterator[Source]:
    """What a segment over these rows is made of."""
    query = """
        SELECT p.row, p.id, e.features, e.features_checksum, e.block, e.block_checksum
        FROM passages p JOIN encoded e ON e.passage = p.row WHERE p.row BETWEEN ? AND ? ORDER BY p.row
    """
    for row, id, features, features_checksum, data, checksum in connection.execute(query, (first, last)):
        block = decode_batch([checked(id, data, checksum)], check=False)
        names = decode_features(checked(id, features, features_checksum))
        yield Source(row, id, names, block.passage_vectors[0], float(block.passage_scales[0]))


def tombstones(connection: sqlite3.Connection) -> NDArray[np.int64]:
    """The rows of passages that were deleted and still stand in a segment, ascending."""
    return rows_of(connection, "SELECT row FROM tombstones ORDER BY row")


def rows_of(connection: sqlite3.Connection, query: str, parameters: Sequence[Any] = ()) -> NDArray[np.int64]:
    """What a query for one number a row finds."""
    return np.array([row for (row,) in connection.execute(query, parameters)], np.int64)


def _json(metadata: Mapping[str, str]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False, sort_keys=True)
