"""One transaction's change of documents: rows in, rows out, and the counts that depend on them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ...errors import IndexDamaged
from ...records import LEX, EncodedPassage
from ...stored import EncodedDocument, Refusal
from .. import phrase_block
from ..features import decode_features, encode_features
from ..refusals import badly_encoded, taken_id
from . import rows
from .database import read_meta, write_meta

_Passage = tuple[tuple[Any, ...], bytes, bytes, Any, list[str]]
"""The columns of a passage, its block, its features, its metadata, its terms."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document whose columns are ready, so that the transaction itself is short; or why it cannot be stored."""

    id: str
    values: tuple[Any, ...] = ()
    passages: tuple[_Passage, ...] = ()
    refusal: Refusal | None = None


def prepare(encoded: EncodedDocument) -> Prepared:
    """Make a document ready."""
    id = encoded.document.id
    try:
        passages = tuple(_prepared(passage, encoded) for passage in encoded.passages)
    except ValueError as error:
        return Prepared(id, refusal=badly_encoded(id, error))
    return Prepared(id, rows.document_values(encoded.document, encoded.content_hash), passages)


def _prepared(encoded: EncodedPassage, whole: EncodedDocument) -> _Passage:
    passage = encoded.passage
    block, features = phrase_block.encode(encoded.block), encode_features(encoded.features)
    lex = [name for name, value in encoded.features.get(LEX, {}).items() if value]
    return rows.passage_values(passage, whole.document), block, features, passage.metadata, lex


class Change:
    """Adds and removes documents inside a transaction that someone else began; `finish` settles the counts."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._meta = read_meta(connection)
        self._generation = int(self._meta["generation"]) + 1
        self._documents = int(self._meta["documents"])
        self._passages = int(self._meta["passages"])
        self._words = int(self._meta["words"])
        self._frequencies: Counter[str] = Counter()
        self._changed = False
        self._uncertain = False
        """Whether something went that cannot be read."""

    def insert(self, document: Prepared) -> Refusal | None:
        """Add a document that is not there; nothing is added if one of its passages has another one's id."""
        if taken := self._taken([values[0] for values, *_ in document.passages]):
            return taken_id(document.id, taken)
        query = """
            INSERT INTO documents (id, title, source, metadata, sections, content_hash, text)
            VALUES (?, ?, ?, ?, ?, ?, ?)
        """
        number = self._connection.execute(query, document.values).lastrowid
        for values, block, features, metadata, lex in document.passages:
            row = self._insert_passage(number, values)
            self._connection.execute("INSERT INTO encoded VALUES (?, ?, ?)", (row, block, features))
            tags = [(key, value, row) for key, value in metadata.items()]
            self._connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
            self._frequencies.update(lex)
            self._words += values[-1]
        self._documents += 1
        self._passages += len(document.passages)
        self._changed = True
        return None

    def _taken(self, passage_ids: Sequence[str]) -> str:
        """A passage id that is in the index already, or stands here twice; empty if there is none."""
        twice = [id for id, count in Counter(passage_ids).items() if count > 1]
        twice += [id for (id,) in rows.select(self._connection, "SELECT id FROM passages WHERE id IN", passage_ids)]
        return min(twice, default="")

    def _insert_passage(self, document: int | None, values: Sequence[Any]) -> int | None:
        query = """
            INSERT INTO passages
            (document, generation, id, number, start, page, title, source, metadata, joints, text, words)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
        return self._connection.execute(query, (document, self._generation, *values)).lastrowid

    def remove(self, document_id: str) -> bool:
        """Remove a document, if it is there."""
        found = self._connection.execute("SELECT row FROM documents WHERE id = ?", (document_id,)).fetchone()
        if found is None:
            return False
        query = "SELECT row, words, features FROM passages LEFT JOIN encoded ON passage = row WHERE document = ?"
        for row, words, features in self._connection.execute(query, found).fetchall():
            self._remove_passage(row, features)
            self._words -= words
        self._connection.execute("DELETE FROM documents WHERE row = ?", found)
        self._documents -= 1
        self._changed = True
        return True

    def _remove_passage(self, row: int, features: bytes | None) -> None:
        try:
            self._frequencies.subtract(_terms(features or b""))
        except IndexDamaged:  # nobody knows any more what it counted for
            self._uncertain = True
        for table, column in (("tags", "passage"), ("encoded", "passage"), ("passages", "row")):
            self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (row,))
        self._connection.execute("INSERT INTO tombstones VALUES (?)", (row,))
        self._passages -= 1

    def finish(self) -> None:
        """Write the counts; the generation goes up if anything has changed."""
        if not self._changed:
            return
        if self._uncertain:
            self._count_again()
        query = """
            INSERT INTO frequencies VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET passages = passages + excluded.passages
        """
        changed = [(name, count) for name, count in sorted(self._frequencies.items()) if count]
        self._connection.executemany(query, changed)
        gone = [(name,) for name, count in changed if count < 0]
        self._connection.executemany("DELETE FROM frequencies WHERE name = ? AND passages <= 0", gone)
        counts = {"documents": self._documents, "passages": self._passages, "words": self._words}
        write_meta(self._connection, generation=self._generation, **counts)

    def _count_again(self) -> None:
        """In how many passages each term stands, from all that are there now."""
        self._connection.execute("DELETE FROM frequencies")
        self._frequencies.clear()
        for (features,) in self._connection.execute("SELECT features FROM encoded"):
            with suppress(IndexDamaged):  # of another passage, which is made again, too
                self._frequencies.update(_terms(features))


def _terms(features: bytes) -> list[str]:
    """The lexical terms of a passage."""
    return [name for values in decode_features(features) if values.field == LEX for name in values.names]
