"""Changing an index: documents in one transaction, segments in another."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...engine import Writer
from ...errors import IndexFailure
from ...stored import EncodedDocument, Refusal
from . import rows
from .catalogue import kept_figures
from .changes import Change, prepare
from .database import FILE, read_meta, transaction, translated, write_meta
from .layout import SEGMENTS, file_stamp, gone_while_writing
from .merging import merge_segments
from .points import reach
from .segment import Mask, Segment, make_segment
from .segment_files import ListedSegment, list_segment, listed_segments, open_segment, write_segment

log = logging.getLogger(__name__)

FLUSH = 4096
"""Passages without a segment before one is made, and the most that are put into memory at once."""

MERGE = 4
"""Segments of about one size before they are put together."""

_DRAFT = "draft-"


class LocalWriter(Writer):
    """The one that changes an index. Its connection is its own; threads take turns."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self.connection = connection
        self._folder = folder
        self._stamp = file_stamp(folder / FILE)
        self._turn = threading.RLock()

    def begin(self) -> bool:
        """Clear away what was never listed, and note that someone is writing; whether the last writer had closed."""
        self.remove_unlisted()
        clean = bool(read_meta(self.connection)["clean"])
        write_meta(self.connection, clean=0)
        return clean

    # --- documents -------------------------------------------------------------------------------------------------

    def add(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        """Add or replace documents; durable when it returns. What is refused is not in the index afterwards."""
        # Prepared before the transaction begins; of several with one id the last counts.
        prepared = [prepare(document) for document in {d.document.id: d for d in documents}.values()]
        refused: list[Refusal] = []
        with self._changing():
            if prepared:
                with transaction(self.connection):
                    change = Change(self.connection)
                    for document in prepared:
                        change.remove(document.id)
                        refusal = document.refusal or change.insert(document)
                        refused += [refusal] if refusal else []
                    change.finish()
                    reach("documents written")
                reach("documents committed")
            if self._loose() >= FLUSH:
                self.flush()
        return refused

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        with self._changing():
            with transaction(self.connection):
                change = Change(self.connection)
                count = sum(change.remove(id) for id in dict.fromkeys(document_ids))
                change.finish()
                reach("documents written")
            reach("documents committed")
        return count

    def count_again(self) -> None:
        """Count everything that is counted from what is there."""
        with self._changing(), transaction(self.connection):
            change = Change(self.connection)
            change.count_again()
            change.finish()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._turn, translated(self._folder):
            if self._is_gone():
                raise gone_while_writing(self._folder.parent)
            yield

    def _is_gone(self) -> bool:
        """Whether somebody took the files away: what is written to them now would be lost with them."""
        return file_stamp(self._folder / FILE) != self._stamp

    # --- segments --------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Make a segment of all passages that have none, then merge what has piled up."""
        if self._loose():
            first = self._covered() + 1
            (last,) = self.connection.execute("SELECT max(row) FROM passages").fetchone()
            self.build(first, last, replaced=[])
        while run := _pile(self.segments()) or self._mostly_dead():
            self._merge(run)

    def compact(self) -> None:
        """One segment of everything that is alive, and a database without holes: what was deleted is gone."""
        with self._changing():
            self.flush()
            found = self.segments()
            (dead,) = self.connection.execute("SELECT count(*) FROM tombstones").fetchone()
            if found and (len(found) > 1 or dead):
                self._merge(found)
            self.connection.execute("DELETE FROM batches WHERE generation NOT IN (SELECT generation FROM passages)")
            self.connection.execute("VACUUM")
            self._empty_log()

    def _mostly_dead(self) -> Sequence[ListedSegment]:
        """A segment of whose passages more than half were deleted: it is worth writing again."""
        query = "SELECT count(*) FROM tombstones WHERE row BETWEEN ? AND ?"
        for segment in self.segments():
            (dead,) = self.connection.execute(query, (segment.first, segment.last)).fetchone()
            if 2 * dead > segment.passages:
                return [segment]
        return ()

    def build(self, first: int, last: int, replaced: Sequence[str]) -> None:
        """Make the segment of these rows from the database, in the place of others."""
        pieces = list(_ranges(self.connection, first, last))
        if len(pieces) > 1:
            drafts = [self._draft(number, *piece) for number, piece in enumerate(pieces)]
            self._put_together(drafts, [None] * len(drafts), first, last, replaced)
        else:
            name = self._next_name()
            segment = make_segment(first, last, rows.sources(self.connection, first, last))
            files = write_segment(segment, self._path(name))
            self._list(ListedSegment(name, first, last, len(segment), files), replaced)

    def rebuild(self, names: Sequence[str]) -> None:
        """Make listed segments again from the database."""
        with self._changing():
            for segment in self.segments():
                if segment.name in names:
                    log.warning("making segment %s again", segment.name)
                    self.build(segment.first, segment.last, replaced=[segment.name])

    def build_all(self) -> None:
        """Make one segment of all passages in the place of whatever is listed."""
        with self._changing():
            log.warning("making all segments again")
            with transaction(self.connection):
                self.connection.execute("DELETE FROM segments")
                self.connection.execute("DELETE FROM tombstones")
                write_meta(self.connection, dead=0)
            self.flush()

    def _draft(self, number: int, first: int, last: int) -> Segment:
        """A part of a segment that is too large to be made in memory. It is never listed, so a crash leaves nothing."""
        segment = make_segment(first, last, rows.sources(self.connection, first, last))
        name = f"{_DRAFT}{number}"
        files = write_segment(segment, self._path(name))
        return open_segment(self._folder, ListedSegment(name, first, last, len(segment), files))

    def _merge(self, run: Sequence[ListedSegment]) -> None:
        opened = [open_segment(self._folder, listed) for listed in run]
        dead = rows.tombstones(self.connection)
        alive = [~segment.holding(dead) for segment in opened]
        self._put_together(opened, alive, run[0].first, run[-1].last, [listed.name for listed in run])

    def _put_together(
        self, parts: Sequence[Segment], alive: Sequence[Mask | None], first: int, last: int, replaced: Sequence[str]
    ) -> None:
        name = self._next_name()
        names = dict.fromkeys(feature for part in parts for feature in kept_figures(self.connection, part))
        count, files = merge_segments(parts, alive, self._path(name), names)
        self._list(ListedSegment(name, first, last, count, files), replaced)

    def _list(self, segment: ListedSegment, replaced: Sequence[str]) -> None:
        """Make a finished segment count, in the place of others: the one step that readers see."""
        with transaction(self.connection):
            self.connection.execute(f"DELETE FROM segments WHERE name IN ({rows.marks(replaced)})", replaced)
            if segment.passages:  # where nothing is alive there is nothing to search
                list_segment(self.connection, segment)
            self._bury(segment.first, segment.last)
            generation = int(read_meta(self.connection)["generation"]) + 1
            write_meta(self.connection, next_segment=int(segment.name) + 1, generation=generation)
            reach("segment listed")
        reach("segment committed")
        self.remove_unlisted()
        reach("old segments removed")

    def _bury(self, first: int, last: int) -> None:
        """Forget the tombstones of these rows: the new segment was made without them."""
        buried = "FROM tombstones WHERE row BETWEEN ? AND ?"
        (rows_gone,) = self.connection.execute(f"SELECT coalesce(sum(row), 0) {buried}", (first, last)).fetchone()
        self.connection.execute(f"DELETE {buried}", (first, last))
        write_meta(self.connection, dead=int(read_meta(self.connection)["dead"]) - rows_gone)

    def remove_unlisted(self) -> None:
        """Remove segment folders that do not count; readers that still map their files keep them."""
        listed = {segment.name for segment in self.segments()}
        for folder in (self._folder / SEGMENTS).iterdir():
            if folder.name not in listed:
                shutil.rmtree(folder, ignore_errors=True)

    def segments(self) -> list[ListedSegment]:
        """The live segments, in the order of their rows."""
        return listed_segments(self.connection)

    def _path(self, name: str) -> Path:
        return self._folder / SEGMENTS / name

    def _next_name(self) -> str:
        return f"{int(read_meta(self.connection)['next_segment']):08d}"

    def _covered(self) -> int:
        (last,) = self.connection.execute("SELECT coalesce(max(last), 0) FROM segments").fetchone()
        return int(last)

    def _loose(self) -> int:
        query = "SELECT count(*) FROM passages WHERE row > ?"
        (count,) = self.connection.execute(query, (self._covered(),)).fetchone()
        return int(count)

    # --- the database ----------------------------------------------------------------------------------------------

    def _empty_log(self) -> None:
        """Bring what is in the write-ahead log into the database file, and leave nothing there."""
        (busy, _, _) = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise IndexFailure(
                "the index is compact, but someone still reads its older state, which stays in the log until then",
                "run it again when that has ended",
            )

    def close(self) -> None:
        """Leave nothing for readers to do in memory, and let go of the database."""
        try:
            if self._is_gone():
                return
            with self._changing():
                self.flush()
                if run := _uneven(self.segments()):
                    self._merge(run)
                write_meta(self.connection, clean=1)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the database as it is."""
        self.connection.close()


def _ranges(connection: sqlite3.Connection, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The rows from first to last, cut so that no piece holds more than fits into memory."""
    query = "SELECT row FROM passages WHERE row BETWEEN ? AND ? ORDER BY row"
    begin = first
    for number, (row,) in enumerate(connection.execute(query, (first, last)).fetchall()):
        if number and number % FLUSH == 0:
            yield begin, row - 1
            begin = row
    yield begin, last


def _pile(segments: Sequence[ListedSegment]) -> Sequence[ListedSegment]:
    """The newest segments, if there are enough of about one size or smaller to be worth putting together."""
    if not segments:
        return ()
    tier = _tier(segments[-1])
    first = len(segments)
    while first and _tier(segments[first - 1]) <= tier:
        first -= 1
    run = segments[first:]
    return run if len(run) >= MERGE else ()


def _uneven(segments: Sequence[ListedSegment]) -> Sequence[ListedSegment]:
    """The newest segments from one on that is not much larger than all behind it: every search looks into each of them.

    Once they are put together, few are left, each a multiple of the next, and a small change joins only small ones.
    """
    first, behind = len(segments), 0
    for number in reversed(range(len(segments))):
        if behind and segments[number].passages < MERGE * behind:
            first = number
        behind += segments[number].passages
    return segments[first:]


def _tier(segment: ListedSegment) -> int:
    """Segments of one tier differ in size by less than the number that is merged; the smallest are all alike."""
    tier, size = 0, FLUSH
    while segment.passages > size:
        tier, size = tier + 1, size * MERGE
    return tier
