"""One transaction's change of documents: rows in, rows out, and the counts that depend on them."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ...errors import IndexDamaged
from ...records import LEX, Document, EncodedPassage
from ...stored import EncodedDocument, Refusal, pairs_of
from .. import phrase_block
from ..features import decode_features, encode_features
from ..refusals import badly_encoded, taken_id
from . import rows
from .database import read_meta, write_meta

UNKNOWN: Final = "unknown"
"""The arithmetic of passages that nobody told it of."""


class _Passage(NamedTuple):
    values: tuple[Any, ...]
    """Its columns."""
    words: int
    block: bytes
    features: bytes
    metadata: Mapping[str, str]
    terms: list[str]

    @property
    def id(self) -> str:
        return str(self.values[0])


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document whose columns are ready, so that the transaction itself is short; or why it cannot be stored."""

    document: Document
    content_hash: str
    arithmetic: str
    passages: tuple[_Passage, ...] = ()
    refusal: Refusal | None = None

    @property
    def id(self) -> str:
        """The id of the document."""
        return self.document.id


def prepare(encoded: EncodedDocument) -> Prepared:
    """Make a document ready."""
    facts = (encoded.document, encoded.content_hash, encoded.arithmetic)
    try:
        return Prepared(*facts, tuple(_prepared(passage, encoded.document) for passage in encoded.passages))
    except ValueError as error:
        return Prepared(*facts, refusal=badly_encoded(encoded.document.id, error))


def _prepared(encoded: EncodedPassage, document: Document) -> _Passage:
    passage = encoded.passage
    block, features = phrase_block.encode(encoded.block), encode_features(encoded.features)
    terms = [name for name, value in encoded.features.get(LEX, {}).items() if value]
    values = rows.passage_values(passage, document)
    return _Passage(values, len(passage.text.split()), block, features, passage.metadata, terms)


class Change:
    """Adds and removes documents inside a transaction that someone else began; `finish` settles the counts."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._meta = {name: int(value) for name, value in read_meta(connection).items() if isinstance(value, int)}
        self._generation = self._meta["generation"] + 1
        self._last_document, self._last_passage = (last_row(connection, table) for table in ("documents", "passages"))
        self._frequencies: Counter[str] = Counter()
        self._tags: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        self._arithmetics: set[str] = set()
        self._changed = False
        self._uncertain = False
        """Whether something went that cannot be read."""

    def insert(self, prepared: Prepared) -> Refusal | None:
        """Add a document that is not there; nothing is added if one of its passages has another one's id."""
        if taken := self._taken([passage.id for passage in prepared.passages]):
            return taken_id(prepared.id, taken)
        self._last_document += 1
        rows.insert_document(self._connection, self._last_document, prepared.document, prepared.content_hash)
        for passage in prepared.passages:
            self._insert_passage(passage)
        self._meta["documents"] += 1
        if prepared.passages:
            self._arithmetics.add(prepared.arithmetic or UNKNOWN)
        self._changed = True
        return None

    def _taken(self, passage_ids: Sequence[str]) -> str:
        """A passage id that is in the index already, or stands here twice; empty if there is none."""
        twice = [id for id, count in Counter(passage_ids).items() if count > 1]
        twice += [id for (id,) in rows.select(self._connection, "SELECT id FROM passages WHERE id IN", passage_ids)]
        return min(twice, default="")

    def _insert_passage(self, passage: _Passage) -> None:
        self._last_passage += 1
        row = self._last_passage
        rows.insert_passage(self._connection, row, self._last_document, self._generation, passage.values)
        rows.insert_encoded(self._connection, row, passage.id, passage.block, passage.features)
        tags = [(key, value, row) for key, value in pairs_of(passage.metadata)]
        self._connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
        self._count_tags(tags, 1)
        self._frequencies.update(passage.terms)
        self._meta["words"] += passage.words
        self._meta["passages"] += 1

    def _count_tags(self, tags: Iterable[tuple[str, str, int]], by: int) -> None:
        for key, value, row in tags:
            counts = self._tags[key, value]
            counts[0] += by
            counts[1] += by * row

    def remove(self, document_id: str) -> bool:
        """Remove a document, if it is there."""
        found = self._connection.execute("SELECT row FROM documents WHERE id = ?", (document_id,)).fetchone()
        if found is None:
            return False
        self._uncertain |= any(rows.unlike(self._connection, rows.PASSAGE_COVERED, "WHERE document = ?", found))
        query = "SELECT row, words, features FROM passages LEFT JOIN encoded ON passage = row WHERE document = ?"
        for row, words, features in self._connection.execute(query, found).fetchall():
            self._remove_passage(row, features)
            self._meta["words"] -= words
        self._connection.execute("DELETE FROM documents WHERE row = ?", found)
        self._meta["documents"] -= 1
        self._changed = True
        return True

    def _remove_passage(self, row: int, features: bytes | None) -> None:
        try:
            self._frequencies.subtract(_terms(features or b""))
        except IndexDamaged:  # nobody knows any more what it counted for
            self._uncertain = True
        self._count_tags(self._connection.execute("SELECT * FROM tags WHERE passage = ?", (row,)).fetchall(), -1)
        for table, column in (("tags", "passage"), ("encoded", "passage"), ("passages", "row")):
            self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (row,))
        self._connection.execute("INSERT INTO tombstones VALUES (?)", (row,))
        self._meta["dead"] += row
        self._meta["passages"] -= 1

    def finish(self) -> None:
        """Write the counts; the generation goes up if anything has changed."""
        if not self._changed:
            return
        if self._uncertain:
            self.count_again()
        self._write_frequencies()
        self._write_tag_counts()
        note_batch(self._connection, self._generation, self._arithmetics)
        counts = {name: self._meta[name] for name in ("documents", "passages", "words", "dead")}
        write_meta(self._connection, generation=self._generation, **counts)

    def _write_frequencies(self) -> None:
        query = """
            INSERT INTO frequencies VALUES (?1, ?2, crc(?1, ?2)) ON CONFLICT (name) DO UPDATE
            SET passages = passages + excluded.passages, checksum = crc(name, passages + excluded.passages)
        """
        changed = [(name, count) for name, count in sorted(self._frequencies.items()) if count]
        self._connection.executemany(query, changed)
        gone = [(name,) for name, count in changed if count < 0]
        self._connection.executemany("DELETE FROM frequencies WHERE name = ? AND passages <= 0", gone)

    def _write_tag_counts(self) -> None:
        query = """
            INSERT INTO tag_counts VALUES (?1, ?2, ?3, ?4, crc(?1, ?2, ?3, ?4)) ON CONFLICT (key, value) DO UPDATE
            SET passages = passages + excluded.passages, rows = rows + excluded.rows,
                checksum = crc(key, value, passages + excluded.passages, rows + excluded.rows)
        """
        changed = {tag: counts for tag, counts in sorted(self._tags.items()) if any(counts)}
        self._connection.executemany(query, [(*tag, *counts) for tag, counts in changed.items()])
        gone = [tag for tag, (passages, _) in changed.items() if passages < 0]
        self._connection.executemany("DELETE FROM tag_counts WHERE key = ? AND value = ? AND passages <= 0", gone)

    def count_again(self) -> None:
        """Everything that is counted, from all that is there now."""
        self._changed = True
        self._frequencies.clear()
        self._tags.clear()
        for table in ("frequencies", "tag_counts"):
            self._connection.execute(f"DELETE FROM {table}")
        for (features,) in self._connection.execute("SELECT features FROM encoded"):
            with suppress(IndexDamaged):  # of another passage, which is made again, too
                self._frequencies.update(_terms(features))
        self._count_tags(self._connection.execute("SELECT key, value, passage FROM tags"), 1)
        counted = "SELECT count(*), coalesce(sum(words), 0), (SELECT count(*) FROM documents) FROM passages"
        self._meta |= zip(("passages", "words", "documents"), self._connection.execute(counted).fetchone(), strict=True)
        for batch in list(rows.unlike(self._connection, rows.BATCHES_COVERED)):
            self._connection.execute("DELETE FROM batches WHERE generation = ?", (batch["generation"],))
            note_batch(self._connection, batch["generation"], [UNKNOWN])


def last_row(connection: sqlite3.Connection, table: str) -> int:
    """The last row that a table has ever had."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return int(found[0]) if found else 0


def note_batch(connection: sqlite3.Connection, generation: int, arithmetics: Iterable[str]) -> None:
    """Note by which arithmetics the passages of a generation were made."""
    if not arithmetics:
        return
    import sparc_search

    facts = (sparc_search.__version__, datetime.now(UTC).date().isoformat())
    query = "INSERT OR REPLACE INTO batches VALUES (?1, ?2, ?3, ?4, crc(?1, ?2, ?3, ?4))"
    connection.executemany(query, [(generation, arithmetic, *facts) for arithmetic in sorted(arithmetics)])


def _terms(features: bytes) -> list[str]:
    """The lexical terms of a passage."""
    return [name for values in decode_features(features) if values.field == LEX for name in values.names]
