"""The local engine: readers that see one committed state at a time, and at most one writer."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ...engine import Engine, Place
from ...errors import IndexDamaged, IndexFailure, IndexMismatch, UsageError
from . import database, layout
from .points import reach
from .recovery import check_before_reading, damaged_segments
from .view import LocalState, LocalView, load_state

if TYPE_CHECKING:  # what only writers and checks need is imported by them: a question waits for nothing else
    from filelock import FileLock

    from .admin import LocalAdmin
    from .writer import LocalWriter


class LocalEngine(Engine):
    """Passages in one SQLite file on this machine, no server needed."""

    def __init__(
        self, location: Path, folder: Path, encoder: str, *, writable: bool, held: FileLock | None = None
    ) -> None:
        self.location, self.folder = location, folder
        self._held = held
        self._unchecked = not writable
        self._state: LocalState | None = None
        self._lock = threading.Lock()  # guards the state and the idle connections
        self._idle: list[sqlite3.Connection] = []
        with database.opened(folder, writable=False) as connection:
            meta = database.read_meta(connection)
        self.encoder, self._identity = str(meta["encoder"]), str(meta["identity"])
        if encoder and encoder != self.encoder:
            raise IndexMismatch(
                f"the index at {location} was made with the model {self.encoder}, not with {encoder}",
                "ask with the model that made it (--model), or move it to this one with `sparc-search index upgrade`",
            )
        self._writer = self._open_writer() if writable else None

    @classmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> Self:
        """Open the index in a folder; to write, it is made if there is none."""
        location = Path(place.location)
        if not writable:
            folder = layout.current(location)
            if not encoder and database.is_older(folder):
                from .older import OlderEngine

                return OlderEngine.open(place)  # type: ignore[return-value]  # an Engine, which is all that is promised
            return cls(location, folder, encoder, writable=False)
        held = layout.lock(location)
        try:
            if not layout.exists(location):
                _create(location, encoder)
            layout.remove_old(location)
            return cls(location, layout.current(location), encoder, writable=True, held=held)
        except BaseException:
            held.release()
            raise

    @classmethod
    @contextmanager
    def rebuild(cls, place: Place, encoder: str) -> Iterator[Self]:
        """The index to come, in a folder beside the old one; it takes over when the context ends without an error."""
        location = Path(place.location)
        held = layout.lock(location)  # nobody writes to the old one meanwhile: it would be lost
        try:
            folder = layout.next_folder(location)
            if _encoder_of(folder) != encoder:
                _make(folder, encoder)
            with cls(location, folder, encoder, writable=True) as new:
                yield new
            reach("rebuilt beside")
            layout.switch(location, folder)
            reach("switched")
        finally:
            held.release()

    def _open_writer(self) -> LocalWriter:
        from .writer import LocalWriter

        writer = LocalWriter(database.connect(self.folder, writable=True, mapped=False), self.folder)
        try:
            if not writer.begin():
                writer.rebuild([name for name, _ in damaged_segments(writer.connection, self.folder)])
        except BaseException:
            writer.abandon()
            raise
        return writer

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[LocalView]:
        """One committed state, for as long as the context lasts."""
        if self._unchecked:
            check_before_reading(self.location, self.folder)
            self._unchecked = False
        connection = self._connection()
        try:
            with database.translated(self.folder):
                connection.execute("BEGIN")
                try:
                    yield LocalView(connection, self._identity, lambda: self._pin(connection))
                finally:
                    connection.execute("ROLLBACK")
        finally:
            with self._lock:
                self._idle.append(connection)

    def _pin(self, connection: sqlite3.Connection) -> LocalState:
        """The state that a transaction sees. Segments may be replaced just then: that is a newer state, so again."""
        tried = None
        while True:
            try:
                return self._load(connection)
            except IndexDamaged:
                generation = database.read_meta(connection)["generation"]
                if generation == tried:
                    raise
                tried = generation
                connection.execute("ROLLBACK")
                connection.execute("BEGIN")

    def _connection(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return database.connect(self.folder, writable=False, mapped=self._writer is None)

    def _load(self, connection: sqlite3.Connection) -> LocalState:
        with self._lock:
            old = self._state
        state = load_state(connection, self.folder, old)
        with self._lock:
            if self._state is None or state.generation > self._state.generation:
                self._state = state
        return state

    # --- writing ---------------------------------------------------------------------------------------------------

    def writer(self) -> LocalWriter:
        """The one writer; `UsageError` if the index was opened for reading."""
        if self._writer is None:
            raise UsageError(f"the index at {self.location} was opened for reading", "open it with writable=True")
        return self._writer

    def admin(self) -> LocalAdmin:
        """Whoever looks after the index."""
        from .admin import LocalAdmin

        return LocalAdmin(self)

    def close(self) -> None:
        """Write what is still to be written and let go of files and locks; nothing acknowledged depends on it."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        writer, self._writer = self._writer, None
        try:
            if writer:
                writer.close()
        finally:
            if self._held:
                self._held.release()


def _create(location: Path, encoder: str) -> None:
    if not encoder:
        layout.current(location)  # nothing to make one for: say that there is none
    folder = layout.next_folder(location)
    _make(folder, encoder)
    layout.switch(location, folder)


def _make(folder: Path, encoder: str) -> None:
    """An empty index in a folder of its own."""
    with database.translated(folder):
        layout.clear(folder)
        database.create(folder, encoder)


def _encoder_of(folder: Path) -> str | None:
    """For which encoder an unfinished version was begun."""
    try:
        with database.opened(folder, writable=True) as connection:
            return str(database.read_meta(connection)["encoder"])
    except (IndexFailure, sqlite3.Error):
        return None
