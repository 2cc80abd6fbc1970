"""The SQLite file that is the truth: its tables, how it is opened, and what its errors mean here."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Final
from uuid import uuid4

from ...errors import DiskFull, IndexDamaged, IndexMismatch

FORMAT: Final = 2
"""Number of everything in an index folder: tables, phrase blocks, features, segments."""

FILE: Final = "index.db"
_MAPPED: Final = 1 << 30

# Rows of `passages` count up and are never used again: a segment is a range of them, the newest are those above the
# last segment, and a row that was deleted stays deleted in every derived file that still knows it.
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    metadata TEXT NOT NULL,     -- JSON
    sections TEXT NOT NULL,     -- JSON
    content_hash TEXT NOT NULL,
    text BLOB NOT NULL          -- zlib
);
CREATE INDEX documents_by_source ON documents(source, id);
CREATE TABLE passages (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents(row),
    number INTEGER NOT NULL,
    start INTEGER NOT NULL,
    page INTEGER,
    title TEXT NOT NULL,
    source TEXT,                -- NULL: the document's
    metadata TEXT,              -- NULL: the document's
    joints TEXT NOT NULL,       -- JSON
    text TEXT NOT NULL,
    words INTEGER NOT NULL,
    generation INTEGER NOT NULL -- that brought it
);
CREATE INDEX passages_of_document ON passages(document, number);
CREATE TABLE encoded (
    passage INTEGER PRIMARY KEY REFERENCES passages(row),
    block BLOB NOT NULL,
    features BLOB NOT NULL
);
CREATE TABLE tags (key TEXT, value TEXT, passage INTEGER, PRIMARY KEY (key, value, passage)) WITHOUT ROWID;
CREATE INDEX tags_of_passage ON tags(passage);
CREATE TABLE frequencies (name TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE segments (
    name TEXT PRIMARY KEY,
    first INTEGER NOT NULL UNIQUE,  -- rows of passages it covers, both ends included
    last INTEGER NOT NULL UNIQUE,
    passages INTEGER NOT NULL,
    files TEXT NOT NULL             -- JSON: file -> [bytes, sha256]
);
CREATE TABLE tombstones (row INTEGER PRIMARY KEY);
"""
_FACTS: Final = {"generation": 0, "documents": 0, "passages": 0, "words": 0, "next_segment": 1, "clean": 1}


def create(folder: Path, encoder: str) -> None:
    """Make an empty database in a new folder."""
    facts = {**_FACTS, "encoder": encoder, "identity": uuid4().hex}
    with translated(folder):
        connection = _connect(folder / FILE, "rwc")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            with transaction(connection):
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
                connection.execute(f"PRAGMA user_version = {FORMAT}")
        finally:
            connection.close()


def connect(folder: Path, *, writable: bool, mapped: bool = True, older: bool = False) -> sqlite3.Connection:
    """A connection to an existing database of this format (or of an older one), safe to hand from thread to thread.

    A mapped database is read fastest, but what was read counts as memory of the process: nothing for a writer, which
    comes to read all of it once.
    """
    with translated(folder):
        connection = _connect(folder / FILE, "rw" if writable else "ro", unchanging=not writable and _at_rest(folder))
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA mmap_size = {_MAPPED if mapped else 0}")
            connection.execute("PRAGMA busy_timeout = 10000")
            found = format_of(connection)
        except BaseException:
            connection.close()
            raise
    if found > FORMAT or (found < FORMAT and not older):
        connection.close()
        raise other_format(folder, found)
    return connection


@contextmanager
def opened(folder: Path, *, writable: bool, older: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection for as long as the context lasts."""
    connection = connect(folder, writable=writable, older=older)
    try:
        with translated(folder):
            yield connection
    finally:
        connection.close()


def _at_rest(folder: Path) -> bool:
    """Whether nobody writes, and we may not: reading then must do without SQLite's shared memory file."""
    writable = os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    return not writable and not (folder / f"{FILE}-wal").exists()


def _connect(path: Path, mode: str, *, unchanging: bool = False) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if unchanging else ''}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def format_of(connection: sqlite3.Connection) -> int:
    """The number of the format that a database has."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def is_older(folder: Path) -> bool:
    """Whether the database in a folder has an older format than this version writes."""
    with opened(folder, writable=False, older=True) as connection:
        return format_of(connection) < FORMAT


def other_format(folder: Path, found: int) -> IndexMismatch:
    """The error for a database of another format."""
    if found > FORMAT:
        return IndexMismatch(
            f"the index at {folder.parent} has format {found}, this version knows {FORMAT}",
            "install a newer version of sparc-search",
        )
    return IndexMismatch(
        f"the index at {folder.parent} has format {found}, this version needs {FORMAT}",
        f"`sparc-search index upgrade --index {quote(str(folder.parent))}` makes it anew from its stored texts",
    )


@contextmanager
def transaction(connection: sqlite3.Connection, *, write: bool = True) -> Iterator[None]:
    """All or nothing. A reading one sees one committed state from its first query on."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk may have rolled back already
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the disk into this package's own."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, folder) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full(folder) from error


def disk_full(folder: Path) -> DiskFull:
    """The error for a disk without room."""
    return DiskFull(
        f"no room left on the disk of {folder}", "make room and run the same command again; what was done is kept"
    )


def _translate(error: sqlite3.Error, folder: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary == sqlite3.SQLITE_FULL:
        return disk_full(folder)
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return IndexDamaged(
            f"the database of the index at {folder} is damaged: {error}",
            "restore it from a copy, or delete the folder and ingest again",
        )
    return error


def read_meta(connection: sqlite3.Connection) -> dict[str, str | int]:
    """The small facts about an index."""
    return dict(connection.execute("SELECT key, value FROM meta").fetchall())


def write_meta(connection: sqlite3.Connection, **values: str | int) -> None:
    """Change some of them."""
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", [(v, k) for k, v in values.items()])
