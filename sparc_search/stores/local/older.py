"""An index of an older format: its documents can be listed, exported and made into an index of today's format.

Every format so far keeps documents in one table with these columns. Blocks and features are of no use without the code
that wrote them, so documents come without passages.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...interfaces import EncodedDocument
from ...records import Document, Section
from . import database, rows


class OlderStore:
    """What can be read of it. Safe to use from several threads."""

    def __init__(self, location: Path, folder: Path) -> None:
        self.location, self._folder = location, folder
        with self._reading() as connection:
            meta = database.read_meta(connection)
        self.encoder, self.identity = str(meta["encoder"]), str(meta["identity"])

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with database.opened(self._folder, writable=False, older=True) as connection:
            yield connection

    def documents(self) -> Iterator[EncodedDocument]:
        """Every document, by id, without its passages."""
        query = "SELECT content_hash, id, title, source, metadata, sections, text FROM documents ORDER BY id"
        with self._reading() as connection, database.transaction(connection, write=False):
            for content_hash, id, title, source, metadata, sections, text in connection.execute(query):
                body = zlib.decompress(text).decode("utf-8", "surrogatepass")
                marked = tuple(Section(*section) for section in json.loads(sections))
                yield EncodedDocument(Document(id, body, title, source, json.loads(metadata), marked), content_hash, ())

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        with self._reading() as connection:
            return rows.content_hashes(connection, document_ids)

    def describe(self) -> dict[str, object]:
        """What it holds."""
        with self._reading() as connection:
            meta = database.read_meta(connection)
            found = database.format_of(connection)
        kept = {name: meta[name] for name in ("documents", "passages", "words") if name in meta}
        return {**kept, "format": found, "format of this version": database.FORMAT, "encoder": self.encoder}

    def close(self) -> None:
        """Nothing is kept open."""
