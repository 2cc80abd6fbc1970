"""The SQLite file that is the truth: its tables, how it is opened, and what its errors mean here."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Final
from uuid import uuid4

from ...errors import DiskFull, IndexDamaged, IndexFailure, IndexLocked, IndexMismatch
from ..standard_words import holds
from .checksums import FROM_OUTSIDE, changed, crc

FORMAT: Final = 4
"""Number of everything in an index folder: tables, phrase blocks, features, segments."""

FILE: Final = "index.db"
_MAPPED: Final = 1 << 30
_CHECKSUM: Final = "checksum"
_TEXT: Final = partial(str, encoding="utf-8", errors="surrogateescape")
"""Bytes that are no text any more are read all the same: the checksum says that they have changed."""
_ANEW: Final = (
    "`sparc-search ingest --rebuild PATH` makes the index anew from its sources; this one stays where it is until then"
)

# Rows of `passages` count up and are never used again: a segment is a range of them, the newest are those above the
# last segment, and a row that was deleted stays deleted in every derived file that still knows it.
#
# What is read together has one checksum (see `checksums`). It stands before long columns: SQLite must walk through them
# to reach what is behind.
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    metadata TEXT NOT NULL,     -- JSON
    content_hash TEXT NOT NULL,
    checksum INTEGER NOT NULL,  -- of the columns above
    text_checksum INTEGER NOT NULL, -- of row, sections and text
    sections TEXT NOT NULL,     -- JSON
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
    borders TEXT NOT NULL,      -- JSON
    words INTEGER NOT NULL,
    generation INTEGER NOT NULL, -- that brought it
    checksum INTEGER NOT NULL,
    text TEXT NOT NULL,
    encoded_text TEXT,          -- NULL: the text
    alignment BLOB              -- NULL: encoded and shown text are one
);
CREATE INDEX passages_of_document ON passages(document, number);
CREATE TABLE encoded (
    passage INTEGER PRIMARY KEY REFERENCES passages(row),
    block_checksum INTEGER NOT NULL,    -- of the passage's id and the block
    features_checksum INTEGER NOT NULL, -- of its id and the features
    block BLOB NOT NULL,
    features BLOB NOT NULL
);
CREATE TABLE tags (key TEXT, value TEXT, passage INTEGER, PRIMARY KEY (key, value, passage)) WITHOUT ROWID;
CREATE INDEX tags_of_passage ON tags(passage);
CREATE TABLE tag_counts (
    key TEXT,
    value TEXT,
    passages INTEGER NOT NULL,  -- that have it
    rows INTEGER NOT NULL,      -- the sum of their rows
    checksum INTEGER NOT NULL,
    PRIMARY KEY (key, value)
) WITHOUT ROWID;
CREATE TABLE frequencies (
    name TEXT PRIMARY KEY,
    passages INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE segments (
    name TEXT PRIMARY KEY,
    first INTEGER NOT NULL UNIQUE,  -- rows of passages it covers, both ends included
    last INTEGER NOT NULL UNIQUE,
    passages INTEGER NOT NULL,
    files TEXT NOT NULL,            -- JSON: file -> [bytes, sha256]
    checksum INTEGER NOT NULL
);
CREATE TABLE tombstones (row INTEGER PRIMARY KEY);
CREATE TABLE batches (
    generation INTEGER NOT NULL,
    arithmetic TEXT NOT NULL,
    version TEXT NOT NULL,
    date TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (generation, arithmetic)
) WITHOUT ROWID;
"""
_FACTS: Final = {"generation": 0, "documents": 0, "passages": 0, "words": 0, "dead": 0, "next_segment": 1, "clean": 1}


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
                connection.executemany("INSERT INTO meta VALUES (?, ?)", [*facts.items(), (_CHECKSUM, 0)])
                write_meta(connection)
                connection.execute(f"PRAGMA user_version = {FORMAT}")
        finally:
            connection.close()


def connect(folder: Path, *, writable: bool, mapped: bool = True, older: bool = False) -> sqlite3.Connection:
    """A connection to an existing database of this format (or of an older one), safe to hand from thread to thread.

    A mapped database is read fastest, but what was read counts as memory of the process: nothing for a writer, which
    comes to read all of it once.
    """
    for log in ("", "-wal", "-shm", "-journal"):
        refuse_link(folder / f"{FILE}{log}")
    with translated(folder):
        connection = _connect(
            folder / FILE, "rw" if writable else "ro", unchanging=not writable and bool(rest_stamp(folder))
        )
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


def refuse_link(path: Path) -> None:
    """`IndexFailure` if this is a link, a pipe or a device: an index holds none.

    A foreign one must not lead to other files, nor let whoever opens it wait for ever.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISLNK(mode):
        raise IndexFailure(
            f"{path} is a link, and so no part of an index", "if you know who made it, put there what it leads to"
        )
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise IndexFailure(f"{path} is a pipe or a device, and so no part of an index", "find out who made it")


def rest_stamp(folder: Path) -> tuple[int, ...]:
    """What changes when somebody writes, if nobody does now, and we may not; else empty.

    Reading then must do without SQLite's shared memory file, and so without seeing what is written later.
    """
    writable = os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    if writable or (folder / f"{FILE}-wal").exists() or not (folder / FILE).exists():
        return ()
    found = (folder / FILE).stat()
    return found.st_mtime_ns, found.st_size


def _connect(path: Path, mode: str, *, unchanging: bool = False) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if unchanging else ''}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.create_function("crc", -1, crc, deterministic=True)
    connection.create_function("holds", 3, holds, deterministic=True)
    connection.text_factory = _TEXT
    return connection


def format_of(connection: sqlite3.Connection) -> int:
    """The number of the format that a database has."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def format_in(folder: Path) -> int:
    """The number of the format of the database in a folder."""
    with opened(folder, writable=False, older=True) as connection:
        return format_of(connection)


def other_format(folder: Path, found: int) -> IndexMismatch:
    """The error for a database of another format."""
    if found > FORMAT:
        return IndexMismatch(
            f"the index at {folder.parent} has format {found}, this version knows {FORMAT}",
            "install a newer version of sparc-search",
        )
    return IndexMismatch(
        f"the index at {folder.parent} has format {found}, this version needs {FORMAT}",
        f"`sparc-search index upgrade --index {quote(str(folder.parent))}` brings it up to date",
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
    except OSError as error:
        raise of_disk(error, folder) from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _translate(error, folder) from error


@contextmanager
def translated_sql(folder: Path) -> Iterator[None]:
    """The same of SQLite alone, around what may do other things with files."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _translate(error, folder) from error


def of_disk(error: OSError, folder: Path) -> IndexFailure:
    """The error for what the disk of an index did not do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    return disk_trouble(error.strerror or str(error), error.filename or folder)


def disk_full(folder: Path) -> DiskFull:
    """The error for a disk without room."""
    return DiskFull(
        f"no room left on the disk of {folder}", "make room and run the same command again; what was done is kept"
    )


def disk_trouble(what: str, where: object) -> IndexFailure:
    """The error for a disk that does not do as it is told. It says nothing about what is in the index."""
    return IndexFailure(
        f"the disk does not read or write {where}: {what}",
        "see to the disk (the system's log tells more), then run the same command again; what was done is kept",
    )


def _translate(error: Exception, folder: Path) -> IndexFailure:
    """What an error of SQLite means. What is neither of the disk nor of others at work means that bytes changed."""
    primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    file = folder / FILE
    if primary == sqlite3.SQLITE_FULL:
        return disk_full(folder)
    if primary == sqlite3.SQLITE_CANTOPEN and not file.exists():
        return IndexDamaged(f"{file} is missing", f"put it back from a copy if there is one. {_ANEW}")
    if primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return disk_trouble(str(error), file)
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return IndexFailure(f"{file} may not be written to: {error}", "see to its rights, and to those of its folder")
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexLocked(f"another process holds {file}: {error}", "try again in a moment")
    return IndexDamaged(
        f"the database of the index at {folder} does not read as it was written: {error}",
        "a disk with an error can look like this, too: `sparc-search index verify` reads it again. "
        f"`sparc-search index restore` brings back a backup. {_ANEW}",
    )


def read_meta(connection: sqlite3.Connection) -> dict[str, str | int]:
    """The small facts about an index."""
    facts = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if facts.pop(_CHECKSUM, None) != _sum_of(facts) and format_of(connection) == FORMAT:
        raise changed("the table of facts about the index", FROM_OUTSIDE)
    return facts


def write_meta(connection: sqlite3.Connection, **values: str | int) -> None:
    """Change some of them, in one step."""
    if not connection.in_transaction:
        with transaction(connection):
            return write_meta(connection, **values)
    facts = dict(connection.execute("SELECT key, value FROM meta WHERE key != ?", (_CHECKSUM,)).fetchall()) | values
    values = {**values, _CHECKSUM: _sum_of(facts)}
    connection.executemany("UPDATE meta SET value = ? WHERE key = ?", [(v, k) for k, v in values.items()])


def _sum_of(facts: Mapping[str, str | int]) -> int:
    return crc(*(part for fact in sorted(facts.items()) for part in fact))
