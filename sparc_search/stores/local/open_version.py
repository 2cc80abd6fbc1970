"""One version of an index folder, opened for reading: its connections, and the state that they saw last."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import IndexDamaged
from . import database, layout
from .recovery import check_before_reading
from .view import LocalState, LocalView, load_state


class OpenVersion:
    """Gives views of one version. Those that are open when it is replaced, or its files deleted, go on to their end."""

    def __init__(self, location: Path, folder: Path, *, beside_writer: bool = False) -> None:
        self._location, self.folder = location, folder
        self._file = folder / database.FILE
        self._mapped = self._unchecked = not beside_writer
        self._state: LocalState | None = None
        self._lock = threading.Lock()  # guards the state and the idle connections
        self._idle: list[sqlite3.Connection] = []
        self._retired = False
        with database.opened(folder, writable=False) as connection:
            meta = database.read_meta(connection)
            self._rest = database.rest_stamp(folder)
            self._stamp = layout.file_stamp(self._file)
        self.encoder, self.identity = str(meta["encoder"]), str(meta["identity"])

    def is_there(self) -> bool:
        """Whether its database is still where it was, and its connections see what is written to it."""
        if layout.file_stamp(self._file) != self._stamp:
            return False
        return not self._rest or database.rest_stamp(self.folder) == self._rest

    @contextmanager
    def view(self) -> Iterator[LocalView]:
        """One committed state, for as long as the context lasts."""
        if self._unchecked:
            check_before_reading(self._location, self.folder)
            self._unchecked = False
        connection = self._connection()
        try:
            with database.translated_sql(self.folder):
                connection.execute("BEGIN")
                try:
                    yield LocalView(connection, self.identity, lambda: self._pin(connection))
                finally:
                    connection.execute("ROLLBACK")
        finally:
            self._give_back(connection)

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

    def _load(self, connection: sqlite3.Connection) -> LocalState:
        with self._lock:
            old = self._state
        with database.translated(self.folder):
            state = load_state(connection, self.folder, old)
        with self._lock:
            if self._state is None or state.generation > self._state.generation:
                self._state = state
        return state

    # --- connections -----------------------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return database.connect(self.folder, writable=False, mapped=self._mapped)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._retired:
                self._idle.append(connection)
                return
        connection.close()

    def retire(self) -> None:
        """Let go of all files, of those that a view still reads when it ends."""
        with self._lock:
            self._retired, self._state = True, None
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
