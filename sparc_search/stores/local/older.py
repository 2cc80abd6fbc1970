"""An index of an older format: its documents can be listed, exported and made into an index of today's format.

Blocks and features are of no use without the code that wrote them, so documents come without passages. Whatever else is
asked of it is answered with the one command that upgrades it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

from ...engine import Admin, Engine, Place, View, Where, Writer
from ...errors import IndexMismatch
from ...records import Features
from ...stored import EncodedDocument, Fetched, Hits, Statistics
from . import database, layout, rows


class OlderEngine(Engine):
    """What can be read of it. `LocalEngine.open` gives it to whoever takes an index of any model."""

    def __init__(self, location: Path) -> None:
        self._location, self.folder = location, layout.current(location)
        with self.reading() as connection:
            self.encoder = str(database.read_meta(connection)["encoder"])

    @classmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> Self:
        """Open it to be listed and exported; who wants to write or to ask is told how to upgrade it."""
        older = cls(place.location)
        if writable or encoder:
            older.writer()
        return older

    @contextmanager
    def view(self) -> Iterator[View]:
        """What is committed now."""
        if layout.current(self._location) != self.folder:
            raise IndexMismatch(f"the index at {self._location} has been upgraded meanwhile", "open it again")
        with self.reading() as connection, database.transaction(connection, write=False):
            yield OlderView(connection, self.folder)

    def writer(self) -> Writer:
        """Nobody writes in an older format."""
        with self.reading() as connection:
            raise database.other_format(self.folder, database.format_of(connection))

    def admin(self) -> Admin:
        """Whoever can say what it holds."""
        return OlderAdmin(self)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection for as long as the context lasts."""
        return database.opened(self.folder, writable=False, older=True)


class OlderView(View):
    """Its documents; no passage."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection, self._folder = connection, folder

    def documents(self, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
        """Every document, or those of these ids, without passages."""
        for _, document, content_hash in rows.read_whole_texts(self._connection, ids, older=True):
            yield EncodedDocument(document, content_hash, ())

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        return rows.content_hashes(self._connection, document_ids)

    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[Hits]:
        """Not in an older format."""
        raise self._other_format()

    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        """Not in an older format."""
        raise self._other_format()

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Not in an older format."""
        raise self._other_format()

    def _other_format(self) -> Exception:
        return database.other_format(self._folder, database.format_of(self._connection))


class OlderAdmin(Admin):
    """Says what it holds."""

    def __init__(self, engine: OlderEngine) -> None:
        self._engine = engine

    def describe(self) -> dict[str, object]:
        """Counts, format and model."""
        with self._engine.reading() as connection:
            meta, found = database.read_meta(connection), database.format_of(connection)
        counts: dict[str, object] = {name: meta[name] for name in ("documents", "passages", "words") if name in meta}
        return {**counts, "format": found, "format of this version": database.FORMAT, "encoder": self._engine.encoder}

    def size_in_bytes(self) -> int:
        """Bytes of everything it keeps, derived files included."""
        return layout.size_in_bytes(self._engine.folder)
