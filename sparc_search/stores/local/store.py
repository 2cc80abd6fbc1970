"""The local store: readers that see one committed state at a time, and at most one writer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from ...errors import IndexDamaged, IndexFailure, IndexMismatch, UsageError
from ...interfaces import CheckReport, EncodedDocument, Hit
from ..reading import Reading
from . import database, layout, rows
from .browsing import Browsing
from .describe import describe
from .older import OlderStore
from .points import reach
from .recovery import check_before_reading, damaged_segments
from .verify import verify
from .view import State, View, load_state
from .writer import Writer


def open_store(location: Path, encoder: str, *, writable: bool) -> LocalStore:
    """Passages in one SQLite file on this machine, no server needed.

    A writable store is made if there is none. An empty `encoder` opens whatever is there.
    """
    location = Path(location)
    if not writable:
        folder = layout.current(location)
        if not encoder and database.is_older(folder):
            return OlderStore(location, folder)  # type: ignore[return-value]
        return LocalStore(location, folder, encoder, writable=False)
    held = layout.lock(location)
    try:
        if not layout.exists(location):
            _create(location, encoder)
        layout.remove_old(location, unfinished=False)
        return LocalStore(location, layout.current(location), encoder, writable=True, held=held)
    except BaseException:
        held.release()
        raise


@contextmanager
def rebuild(location: Path, encoder: str) -> Iterator[LocalStore]:
    """The index to come, beside whatever is there. It takes its place when the context ends without an error."""
    held = layout.lock(location)  # nobody writes to the old one meanwhile: it would be lost
    try:
        folder = layout.next_folder(location)
        if _encoder_of(folder) != encoder:
            with database.translated(folder):
                layout.clear(folder)
                database.create(folder, encoder)
        with LocalStore(location, folder, encoder, writable=True) as new:
            yield new
        reach("rebuilt beside")
        layout.switch(location, folder)
        reach("switched")
    finally:
        held.release()


open_store.rebuild = rebuild  # type: ignore[attr-defined]


def _create(location: Path, encoder: str) -> None:
    if not encoder:
        layout.current(location)  # nothing to make one for: say that there is none
    with database.translated(location):
        folder = layout.next_folder(location)
        layout.clear(folder)
        database.create(folder, encoder)
        layout.switch(location, folder)


class LocalStore(Browsing, Reading):
    """An index in a folder. Safe to use from several threads."""

    def __init__(
        self, location: Path, folder: Path, encoder: str, *, writable: bool, held: FileLock | None = None
    ) -> None:
        self.location = location
        self._folder = folder
        self._held = held
        self._unchecked = not writable
        self._state: State | None = None
        self._lock = threading.Lock()  # guards the state and the idle connections
        self._writing = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        with database.opened(self._folder, writable=False) as connection:
            meta = database.read_meta(connection)
        self.encoder, self.identity = str(meta["encoder"]), str(meta["identity"])
        if encoder and encoder != self.encoder:
            raise _other_model(location, self.encoder, encoder)
        self._writer = self._open_writer() if writable else None

    def _open_writer(self) -> Writer:
        writer = Writer(database.connect(self._folder, writable=True, mapped=False), self._folder)
        try:
            if not writer.begin():
                writer.rebuild([name for name, _ in damaged_segments(writer.connection, self._folder)])
        except BaseException:
            writer.abandon()
            raise
        return writer

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[View]:
        """One committed state, for as long as the context lasts."""
        if self._unchecked:
            check_before_reading(self.location, self._folder)
            self._unchecked = False
        with self._reading() as connection:
            state = self._pin(connection)
            try:
                yield View(connection, state)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        try:
            with database.translated(self._folder):
                yield connection
        finally:
            with self._lock:
                self._idle.append(connection)

    def _pin(self, connection: sqlite3.Connection) -> State:
        """Begin to read one committed state. Segments may be replaced just then: that is a newer state, so again."""
        tried = None
        while True:
            connection.execute("BEGIN")
            try:
                return self._load(connection)
            except BaseException as error:
                generation = database.read_meta(connection)["generation"]
                connection.execute("ROLLBACK")
                if not isinstance(error, IndexDamaged) or generation == tried:
                    raise
                tried = generation

    def _connection(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return database.connect(self._folder, writable=False, mapped=self._writer is None)

    def _load(self, connection: sqlite3.Connection) -> State:
        with self._lock:
            old = self._state
        state = load_state(connection, self._folder, old)
        with self._lock:
            if self._state is None or state.generation > self._state.generation:
                self._state = state
        return state

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there.

        From the database alone: an ingest asks between its own commits, and need not load what it has just written.
        """
        with self._reading() as connection:
            return rows.content_hashes(connection, document_ids)

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""
        with self.view() as view:
            return view.dense_search(vectors, k, where)

    def describe(self) -> dict[str, object]:
        """What it holds and how much room that takes."""
        with self.view() as view:
            return describe(view, self._folder)

    def size_in_bytes(self) -> int:
        """Bytes of everything it keeps, derived files included."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        """Add or replace documents, all or none; durable when it returns."""
        with self._write() as writer:
            writer.add(documents)

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        with self._write() as writer:
            return writer.delete(document_ids)

    def compact(self) -> None:
        """Put everything into one segment and give back the room of what was deleted."""
        with self._write() as writer:
            writer.compact()

    def verify(self) -> CheckReport:
        """Look at everything: the database, every block, every posting and vector."""
        return verify(self._folder)

    def repair(self, report: CheckReport) -> list[str]:
        """Make the segments that a report names again from the database; their names."""
        names = sorted({problem.derived for problem in report.problems if problem.derived})
        with self._write() as writer:
            writer.rebuild(names)
        return names

    @contextmanager
    def rebuilding(self, encoder: str) -> Iterator[LocalStore]:
        """The store to come. It takes the old one's place when the context ends without an error.

        What an attempt for the same encoder left unfinished is gone on with.
        """
        with self._write():  # nobody writes to the old one meanwhile: it would be lost
            folder = layout.next_folder(self.location)
            if _encoder_of(folder) != encoder:
                layout.clear(folder)
                database.create(folder, encoder)
            with LocalStore(self.location, folder, encoder, writable=True) as new:
                yield new
            reach("rebuilt beside")
            layout.switch(self.location, folder)
            reach("switched")

    @contextmanager
    def _write(self) -> Iterator[Writer]:
        if self._writer is None:
            raise UsageError(f"the index at {self.location} was opened for reading", "open it with writable=True")
        with self._writing, database.translated(self._folder):
            yield self._writer

    def close(self) -> None:
        """Write what is still to be written and let go of files and locks; nothing acknowledged depends on it."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        writer, self._writer = self._writer, None
        try:
            if writer:
                with self._writing, database.translated(self._folder):
                    writer.close()
        finally:
            if self._held:
                self._held.release()

    def __enter__(self) -> LocalStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _encoder_of(folder: Path) -> str | None:
    """For which encoder an unfinished version was begun."""
    try:
        with database.opened(folder, writable=True) as connection:
            return str(database.read_meta(connection)["encoder"])
    except (IndexFailure, sqlite3.Error):
        return None


def _other_model(location: Path, made_with: str, encoder: str) -> IndexMismatch:
    return IndexMismatch(
        f"the index at {location} was made with the model {made_with}, not with {encoder}",
        "ask with the model that made it (--model), or move it to this one with `sparc-search index reencode`",
    )
