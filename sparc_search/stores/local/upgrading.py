"""From format 2 to today's without the model: the same rows, with checksums, in a folder beside the old one.

Features stay as they are; blocks and postings hold the same numbers, coded anew. Format 2 had no checksums of rows, so
whatever can tell that it is damaged is asked first: a copy must not make damage look sound.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..derived_files import Files, check_sums, map_array
from ..features import decode_features
from ..older_block import decode_older
from ..phrase_block import encode
from . import database, rows
from .changes import UNKNOWN, note_batch
from .checksums import crc
from .layout import SEGMENTS, clear
from .postings import packed
from .segment_files import ListedSegment, finished, list_segment, write_postings

log = logging.getLogger(__name__)

COPIED: Final = 2
"""The format whose rows are copied; older ones are encoded anew from their texts."""

_AT_ONCE: Final = 5_000
"""Rows of a transaction."""

_DOCUMENTS: Final = f"""
    INSERT INTO documents (row, id, title, source, metadata, content_hash, sections, text, checksum, text_checksum)
    SELECT row, id, title, source, metadata, content_hash, sections, text,
        {rows.sum_of(rows.DOCUMENT)}, {rows.sum_of(rows.DOCUMENT_TEXT)}
    FROM old.documents WHERE row BETWEEN ? AND ?
"""
_PASSAGES: Final = f"""
    INSERT INTO passages ({rows.columns(rows.PASSAGE)}, checksum)
    SELECT {rows.columns(rows.PASSAGE)}, {rows.sum_of(rows.PASSAGE)}
    FROM (SELECT *, joints AS borders, NULL AS encoded_text, NULL AS alignment FROM old.passages)
    WHERE row BETWEEN ? AND ?
"""
_OLD_ENCODED: Final = """
    SELECT passage, p.id, block, features FROM old.encoded JOIN old.passages p ON p.row = passage
    WHERE passage BETWEEN ? AND ?
"""
_ENCODED: Final = """
    INSERT INTO encoded (passage, block, features, block_checksum, features_checksum) VALUES (?, ?, ?, ?, ?)
"""
_WHOLE: Final = (
    "INSERT INTO tags SELECT key, value, passage FROM old.tags",
    """INSERT INTO tag_counts SELECT key, value, count(*), sum(passage), crc(key, value, count(*), sum(passage))
       FROM tags GROUP BY key, value""",
    "INSERT INTO frequencies SELECT name, passages, crc(name, passages) FROM old.frequencies",
    "INSERT INTO tombstones SELECT row FROM old.tombstones",
    "DELETE FROM sqlite_sequence",
    "INSERT INTO sqlite_sequence SELECT name, seq FROM old.sqlite_sequence",
)


def copy_index(old: Path, new: Path) -> None:
    """Make an index of this format of one of format 2; what was left of another attempt is begun anew.

    `IndexDamaged` if something in it is not what was written.
    """
    clear(new)
    with database.opened(old, writable=False, older=True) as connection:
        _check(connection)
        facts = database.read_meta(connection)
        segments = connection.execute("SELECT name, first, last, passages, files FROM segments").fetchall()
    database.create(new, str(facts["encoder"]))
    with database.opened(new, writable=True) as connection:
        connection.execute("ATTACH ? AS old", (f"{(old / database.FILE).absolute().as_uri()}?mode=ro",))
        _copy(connection, "documents", _DOCUMENTS)
        _copy(connection, "passages", _PASSAGES)
        _copy_encoded(connection)
        with database.transaction(connection):
            _copy_the_rest(connection, facts)
            for name, first, last, passages, files in segments:
                copied = _copy_segment(old / SEGMENTS / name, new / SEGMENTS / name, json.loads(files))
                list_segment(connection, ListedSegment(name, first, last, passages, copied))


def _check(connection: sqlite3.Connection) -> None:
    """What format 2 can tell of its rows, besides blocks: the sums that zlib keeps."""
    for (features,) in connection.execute("SELECT features FROM encoded"):
        decode_features(features)
    for id, text in connection.execute("SELECT id, text FROM documents"):
        try:
            zlib.decompress(text)
        except zlib.error as error:
            raise rows.changed_text(id) from error


def _ranges(connection: sqlite3.Connection, table: str) -> Iterator[tuple[int, int]]:
    (last,) = connection.execute(f"SELECT coalesce(max(row), 0) FROM old.{table}").fetchone()
    for begin in range(1, last + 1, _AT_ONCE):
        yield begin, begin + _AT_ONCE - 1


def _copy(connection: sqlite3.Connection, table: str, query: str) -> None:
    for some in _ranges(connection, table):
        with database.transaction(connection):
            connection.execute(query, some)


def _copy_encoded(connection: sqlite3.Connection) -> None:
    for some in _ranges(connection, "passages"):
        with database.transaction(connection):
            connection.executemany(_ENCODED, map(_anew, connection.execute(_OLD_ENCODED, some)))


def _anew(row: tuple[int, str, bytes, bytes]) -> tuple[int, bytes, bytes, int, int]:
    passage, id, older, features = row
    block = encode(decode_older(older))
    return passage, block, features, crc(id, block), crc(id, features)


def _copy_the_rest(connection: sqlite3.Connection, facts: dict[str, str | int]) -> None:
    for query in _WHOLE:
        connection.execute(query)
    for (generation,) in connection.execute("SELECT DISTINCT generation FROM passages").fetchall():
        note_batch(connection, generation, [f"{UNKNOWN} (format {COPIED})"])
    (dead,) = connection.execute("SELECT coalesce(sum(row), 0) FROM tombstones").fetchone()
    database.write_meta(connection, **{**facts, "dead": dead, "clean": 1})


def _copy_segment(old: Path, new: Path, files: Files) -> Files:
    check_sums(old, files)
    shutil.copytree(old, new, ignore=shutil.ignore_patterns("posting_*"))
    keys, offsets, numbers, values = (
        map_array(old, f"posting_{name}") for name in ("keys", "offsets", "rows", "values")
    )
    write_postings(packed(keys, offsets, numbers, values, len(map_array(old, "rows"))), new)
    return finished(new)
