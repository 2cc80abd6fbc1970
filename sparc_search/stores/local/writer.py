"""Changing an index: documents in one transaction, segments in another."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...interfaces import EncodedDocument
from . import rows
from .changes import Change, Prepared
from .database import read_meta, transaction, write_meta
from .layout import SEGMENTS
from .points import reach
from .segment import make_segment
from .segment_files import write_segment

FLUSH = 4096
"""Passages without a segment before one is made."""

MERGE = 4
"""Segments of about one size before they are put together."""


class Listed(NamedTuple):
    """A segment as the database lists it."""

    name: str
    first: int
    last: int
    passages: int


class Writer:
    """The one that changes an index. It holds the lock; its connection is its own."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        """Add or replace documents, all or none; durable when it returns."""
        # Encoded before the transaction begins, and the last of several with one id counts.
        prepared = [Prepared(document) for document in {d.document.id: d for d in documents}.values()]
        if not prepared:
            return
        with transaction(self._connection):
            change = Change(self._connection)
            for document in prepared:
                change.remove(document.id)
                change.insert(document)
            change.finish()
            reach("documents written")
        reach("documents committed")
        self.tidy()

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        with transaction(self._connection):
            change = Change(self._connection)
            count = sum(change.remove(id) for id in dict.fromkeys(document_ids))
            change.finish()
            reach("documents written")
        reach("documents committed")
        return count

    def tidy(self) -> None:
        """Make a segment if many passages have none, and put small ones together where they pile up."""
        if self._loose() >= FLUSH:
            self.flush()

    def flush(self) -> None:
        """Make a segment of all passages that have none, then merge what has piled up."""
        if self._loose():
            first = self._covered() + 1
            (last,) = self._connection.execute("SELECT max(row) FROM passages").fetchone()
            self._build(first, last, replaced=[])
        while run := _pile(self._segments()):
            self._build(run[0].first, run[-1].last, replaced=[segment.name for segment in run])

    def compact(self) -> None:
        """One segment of everything that is alive, and a database without holes."""
        self.flush()
        found = self._segments()
        (dead,) = self._connection.execute("SELECT count(*) FROM tombstones").fetchone()
        if found and (len(found) > 1 or dead):
            self._build(found[0].first, found[-1].last, replaced=[segment.name for segment in found])
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Leave nothing for readers to do in memory, and let go of the database."""
        try:
            self.flush()
        finally:
            self._connection.close()

    def _build(self, first: int, last: int, replaced: Sequence[str]) -> None:
        number = int(read_meta(self._connection)["next_segment"])
        name = f"{number:08d}"
        segment = make_segment(first, last, rows.sources(self._connection, first, last))
        files = write_segment(segment, self._folder / SEGMENTS / name)
        with transaction(self._connection):
            self._connection.execute(f"DELETE FROM segments WHERE name IN ({rows.marks(replaced)})", replaced)
            values = (name, first, last, len(segment), json.dumps(files))
            self._connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", values)
            self._connection.execute("DELETE FROM tombstones WHERE row BETWEEN ? AND ?", (first, last))
            generation = int(read_meta(self._connection)["generation"])
            write_meta(self._connection, next_segment=number + 1, generation=generation + 1)
            reach("segment listed")
        reach("segment committed")
        self.remove_unlisted()
        reach("old segments removed")

    def remove_unlisted(self) -> None:
        """Remove segment folders that do not count; readers that still map their files keep them."""
        listed = {segment.name for segment in self._segments()}
        for folder in (self._folder / SEGMENTS).iterdir():
            if folder.name not in listed:
                shutil.rmtree(folder, ignore_errors=True)

    def _segments(self) -> list[Listed]:
        query = "SELECT name, first, last, passages FROM segments ORDER BY first"
        return [Listed(*values) for values in self._connection.execute(query)]

    def _covered(self) -> int:
        (last,) = self._connection.execute("SELECT coalesce(max(last), 0) FROM segments").fetchone()
        return int(last)

    def _loose(self) -> int:
        query = "SELECT count(*) FROM passages WHERE row > ?"
        (count,) = self._connection.execute(query, (self._covered(),)).fetchone()
        return int(count)


def _pile(segments: Sequence[Listed]) -> Sequence[Listed]:
    """The newest segments, if there are enough of about one size or smaller to be worth putting together."""
    if not segments:
        return ()
    tier = _tier(segments[-1])
    first = len(segments)
    while first and _tier(segments[first - 1]) <= tier:
        first -= 1
    run = segments[first:]
    return run if len(run) >= MERGE else ()


def _tier(segment: Listed) -> int:
    """Segments of one tier differ in size by less than the number that is merged."""
    tier, size = 0, FLUSH
    while segment.passages > size:
        tier, size = tier + 1, size * MERGE
    return tier
