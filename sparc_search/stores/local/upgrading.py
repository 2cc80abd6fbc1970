"""From format 2 to format 3 without the model: the same rows, with checksums, in a folder beside the old one.

Blocks, features and segments stay as they are. Format 2 had no checksums of rows, so whatever can tell that it is
damaged is asked first: a copy must not make damage look sound.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import zlib
from pathlib import Path
from typing import Final

from ...errors import IndexDamaged
from ..block_layout import CHECKED_FROM, FIELDS, HEAD
from ..derived_files import Files, check_sums
from ..features import decode_features
from . import database, rows
from .changes import UNKNOWN, note_batch
from .layout import SEGMENTS, clear
from .segment_files import ListedSegment, finished, list_segment

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
_ENCODED: Final = """
    INSERT INTO encoded (passage, block, features, block_checksum, features_checksum)
    SELECT passage, block, features, crc(p.id, block), crc(p.id, features)
    FROM old.encoded JOIN old.passages p ON p.row = passage WHERE passage BETWEEN ? AND ?
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
        for table, query in (("documents", _DOCUMENTS), ("passages", _PASSAGES), ("passages", _ENCODED)):
            _copy(connection, table, query)
        with database.transaction(connection):
            _copy_the_rest(connection, facts)
            for name, first, last, passages, files in segments:
                copied = _copy_segment(old / SEGMENTS / name, new / SEGMENTS / name, json.loads(files))
                list_segment(connection, ListedSegment(name, first, last, passages, copied))


def _check(connection: sqlite3.Connection) -> None:
    """What format 2 can tell of its rows: the sums within blocks, and those that zlib keeps."""
    at = FIELDS["checksum"][1]
    for block, features in connection.execute("SELECT block, features FROM encoded"):
        sound = zlib.crc32(block[CHECKED_FROM:]) == int.from_bytes(block[at : at + 4], "little")
        if not sound or len(block) < HEAD.itemsize:
            raise IndexDamaged("a phrase block of the older index is damaged")
        decode_features(features)
    for id, text in connection.execute("SELECT id, text FROM documents"):
        try:
            zlib.decompress(text)
        except zlib.error as error:
            raise rows.changed_text(id) from error


def _copy(connection: sqlite3.Connection, table: str, query: str) -> None:
    (last,) = connection.execute(f"SELECT coalesce(max(row), 0) FROM old.{table}").fetchone()
    for begin in range(1, last + 1, _AT_ONCE):
        with database.transaction(connection):
            connection.execute(query, (begin, begin + _AT_ONCE - 1))


def _copy_the_rest(connection: sqlite3.Connection, facts: dict[str, str | int]) -> None:
    for query in _WHOLE:
        connection.execute(query)
    for (generation,) in connection.execute("SELECT DISTINCT generation FROM passages").fetchall():
        note_batch(connection, generation, [f"{UNKNOWN} (format {COPIED})"])
    (dead,) = connection.execute("SELECT coalesce(sum(row), 0) FROM tombstones").fetchone()
    database.write_meta(connection, **{**facts, "dead": dead, "clean": 1})


def _copy_segment(old: Path, new: Path, files: Files) -> Files:
    check_sums(old, files)
    shutil.copytree(old, new)
    return finished(new)
