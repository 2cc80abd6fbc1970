"""Which documents this run has met, and which documents of the index have vanished from their source.

Kept in a temporary database on disk, so that memory does not grow with them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from sparc_search.errors import DiskFull
from sparc_search.records import Document

from .patterns import Filters
from .target import Target
from .walk import Root


class Seen:
    """Ids of a run with their content hashes, and the sources whose documents must not be taken for vanished."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)  # no name: a file of its own, gone when closed
        self._database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE TABLE ids (id BLOB PRIMARY KEY, hash TEXT) WITHOUT ROWID;"
            "CREATE TABLE unsure (source TEXT PRIMARY KEY) WITHOUT ROWID;"
            "CREATE TABLE gone (id TEXT PRIMARY KEY, source TEXT) WITHOUT ROWID;"
            "CREATE TABLE new (text BLOB PRIMARY KEY, id TEXT) WITHOUT ROWID;"
            "BEGIN;"
        )

    def meet(self, document_id: str, content_hash: str) -> str | None:
        """Remember a document; the hash it had if this run has met its id before."""
        key = _key(document_id)
        if row := self._first("SELECT hash FROM ids WHERE id = ?", (key,)):
            return str(row[0])
        self._first("INSERT INTO ids VALUES (?, ?)", (key, content_hash))
        return None

    def __contains__(self, document_id: str) -> bool:
        return self._first("SELECT 1 FROM ids WHERE id = ?", (_key(document_id),)) is not None

    def add(self, document: Document) -> None:
        """Remember a document that the index did not have."""
        self._first("INSERT OR IGNORE INTO new VALUES (?, ?)", (_key(document.text), document.id))

    def any_new(self) -> bool:
        """Whether there was any."""
        return self._first("SELECT 1 FROM new LIMIT 1", ()) is not None

    def same(self, text: str) -> str:
        """The id of a new document with this very text; empty if there is none."""
        row = self._first("SELECT id FROM new WHERE text = ?", (_key(text),))
        return str(row[0]) if row else ""

    def doubt(self, source: str) -> None:
        """Something at (or below) this source could not be read: what the index has from there stays."""
        self._first("INSERT OR IGNORE INTO unsure VALUES (?)", (source,))

    def in_doubt(self, source: str) -> bool:
        """Whether the source, or a folder it is in, was in doubt."""
        candidates = [source]
        while "/" in source:
            source = source.rpartition("/")[0]
            candidates.append(source)
        marks = ",".join("?" * len(candidates))
        return self._first(f"SELECT 1 FROM unsure WHERE source IN ({marks})", candidates) is not None

    def miss(self, document_id: str, source: str) -> None:
        """Remember a document of the index that was not met."""
        self._first("INSERT OR IGNORE INTO gone VALUES (?, ?)", (document_id, source))

    def missed(self) -> Iterator[tuple[str, str]]:
        """Id and source of each document that was missed, in the order of their ids."""
        for document_id, source in self._database.execute("SELECT id, source FROM gone ORDER BY id"):
            yield str(document_id), str(source)

    def _first(self, query: str, values: Sequence[object]) -> tuple[object, ...] | None:
        try:
            row: tuple[object, ...] | None = self._database.execute(query, values).fetchone()
        except sqlite3.OperationalError as error:
            raise DiskFull(f"no room for temporary files: {error}", "free some, or set TMPDIR") from error
        return row

    def close(self) -> None:
        """Forget everything."""
        self._database.close()


def vanished(
    target: Target, roots: Sequence[Root], filters: Filters, seen: Seen, corpus: str = ""
) -> Iterator[tuple[str, str]]:
    """Id and source of each document that `--sync` deletes.

    What could not be read this time, or is left out by a filter, has not vanished. With a corpus only its own
    documents count: the same files may stand in the index under another name too.
    """
    prefix = f"{corpus}/" if corpus else ""
    for root in roots:
        if root.kind == "stdin":
            continue  # two runs from a pipe need not be of the same source
        for document_id, source in target.documents_from(root.prefix):
            ours = document_id.startswith(prefix) and root.covers(source)
            if ours and document_id not in seen and not seen.in_doubt(source):
                below = source[len(root.path) :].lstrip("/") if root.kind == "folder" else source
                if not _left_out(below, filters):
                    yield document_id, source


def _left_out(path: str, filters: Filters) -> bool:
    """Whether a filter keeps this file, or a folder it is in, from being read."""
    folders = path.split("/")[:-1]
    parents = ("/".join(folders[: depth + 1]) for depth in range(len(folders)))
    return bool(filters.why_not(path)) or any(filters.why_not(parent, folder=True) for parent in parents)


def moved_away(target: Target, roots: Sequence[Root], seen: Seen, corpus: str = "") -> Iterator[tuple[str, str]]:
    """Id and source of each document whose file is gone from the folder of a named file, which it may have become."""
    prefix = f"{corpus}/" if corpus else ""
    for folder in sorted({f"{os.path.dirname(root.path)}/" for root in roots if root.kind == "file"}):
        for document_id, source in target.documents_from(folder):
            if document_id.startswith(prefix) and document_id not in seen and not os.path.lexists(source):
                yield document_id, source


def _key(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
