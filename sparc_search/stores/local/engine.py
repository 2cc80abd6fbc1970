"""The local engine: readers that see one committed state at a time, and at most one writer."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ...engine import Engine, Place
from ...errors import IndexDamaged, IndexFailure, IndexMismatch, UsageError
from ..derived_files import sync
from . import database, layout
from .open_version import OpenVersion
from .points import reach
from .recovery import damaged_segments
from .view import LocalView

if TYPE_CHECKING:  # what only writers and checks need is imported by them: a question waits for nothing else
    from filelock import FileLock

    from .admin import LocalAdmin
    from .writer import LocalWriter


log = logging.getLogger(__name__)


class LocalEngine(Engine):
    """Passages in one SQLite file on this machine, no server needed.

    Whoever reads follows: every view is of the version that counts when it is opened. Whoever writes, or fills the
    version to come, stays with that.
    """

    def __init__(
        self,
        location: Path,
        encoder: str,
        *,
        writable: bool = False,
        held: FileLock | None = None,
        to_come: Path | None = None,
    ) -> None:
        self.location, self._wanted = location, encoder
        self._held = held
        self._follows = to_come is None  # the version to come does not count yet
        self._lock = threading.Lock()  # guards which version is open
        self._stamp: layout.Stamp = ()
        if to_come is None:
            self._stamp, self._version = layout.settled(location, lambda: self._opened(beside_writer=writable))
        else:
            self._version = self._opened(to_come, beside_writer=True)
        self.encoder = self._version.encoder
        self._writer = self._open_writer() if writable else None

    @property
    def folder(self) -> Path:
        """The folder of the version that is open."""
        return self._version.folder

    @classmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> Self:
        """Open the index in a folder; to write, it is made if there is none."""
        location = Path(place.location)
        if not writable:
            return cls._open_to_read(place, encoder)
        with database.translated(location):
            held = layout.lock(location)
        try:
            with database.translated(location):
                if not layout.exists(location):
                    _create(location, encoder)
                layout.remove_old(location)
            return cls(location, encoder, writable=True, held=held)
        except BaseException:
            held.release()
            raise

    @classmethod
    def _open_to_read(cls, place: Place, encoder: str) -> Self:
        """Open what counts, of this format or, for any encoder, of an older one."""
        location = Path(place.location)

        def look() -> Engine:
            if not encoder and database.format_in(layout.current(location)) < database.FORMAT:
                from .older import OlderEngine

                return OlderEngine.open(place)
            return cls(location, encoder)

        return layout.settled(location, look)[1]  # type: ignore[return-value]  # an Engine, which is all that is promised

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
            with cls(location, encoder, writable=True, to_come=folder) as new:
                yield new
            reach("rebuilt beside")
            with database.translated(location):
                layout.switch(location, folder)
            reach("switched")
        finally:
            held.release()

    @classmethod
    def upgrade(cls, place: Place) -> bool:
        """Copy the rows of an index of the format before; False of any other, or if one of its rows is damaged."""
        from .upgrading import COPIED, copy_index

        location = Path(place.location)
        held = layout.lock(location)
        try:
            old, new = layout.current(location), layout.next_folder(location)
            if database.format_in(old) != COPIED:
                return False
            copy_index(old, new)
            reach("rebuilt beside")
            layout.switch(location, new)
            reach("switched")
            layout.remove_old(location)
        except IndexDamaged as error:
            log.warning("%s: it is made anew from its texts", error.message)
            return False
        finally:
            held.release()
        return True

    @classmethod
    def restore(cls, place: Place, source: Path, *, replace: bool) -> dict[str, object]:
        """Make a backup the index in a folder, in one step."""
        from .backup import restore

        return restore(Path(place.location), source, replace=replace)

    def _open_writer(self) -> LocalWriter:
        from .writer import LocalWriter

        writer = LocalWriter(database.connect(self.folder, writable=True, mapped=False), self.folder)
        try:
            with database.translated(self.folder):
                if not writer.begin():
                    writer.rebuild([name for name, _ in damaged_segments(writer.connection, self.folder)])
        except BaseException:
            writer.abandon()
            raise
        return writer

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[LocalView]:
        """One committed state of the version that counts now, for as long as the context lasts."""
        with ExitStack() as stack:
            yield self._enter(stack)

    def _enter(self, stack: ExitStack) -> LocalView:
        """A view that holds open what it will read. If files vanish meanwhile they were replaced: then once more."""
        while True:
            version = self._followed()
            try:
                view = stack.enter_context(version.view())
            except IndexFailure:
                if not self._has_changed(version):
                    raise
                continue
            if self._writer is not None or view.is_whole() or not self._has_changed(version):
                return view
            stack.close()

    def _followed(self) -> OpenVersion:
        """The version that counts now; `IndexNotFound` if there is none any more."""
        if not self._has_changed(self._version):
            return self._version
        if self._writer is not None:
            raise layout.gone_while_writing(self.location)
        with self._lock:
            if self._has_changed(self._version):
                self._follow()
            return self._version

    def _follow(self) -> None:
        stamp = layout.stamp(self.location)
        try:
            stamp, new = layout.settled(self.location, self._opened)
        except IndexMismatch as error:
            self.behind = error
            if not self._version.is_there():
                raise
        else:
            old, self._version, self.encoder = self._version, new, new.encoder
            self.behind = None
            old.retire()
        self._stamp = stamp

    def _has_changed(self, version: OpenVersion) -> bool:
        if not self._follows:
            return False
        return version is not self._version or layout.stamp(self.location) != self._stamp or not version.is_there()

    def _opened(self, to_come: Path | None = None, *, beside_writer: bool = False) -> OpenVersion:
        """The version that counts, or the one that is to come."""
        folder = to_come or layout.current(self.location)
        version = OpenVersion(self.location, folder, beside_writer=beside_writer)
        if self._wanted and self._wanted != version.encoder:
            raise IndexMismatch(
                f"the index at {self.location} was made with the model {version.encoder}, not with {self._wanted}",
                "ask with the model that made it (--model), or move it to this one with `sparc-search index upgrade`",
            )
        return version

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
        self._version.retire()
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
        sync(folder)


def _encoder_of(folder: Path) -> str | None:
    """For which encoder an unfinished version was begun."""
    try:
        with database.opened(folder, writable=True) as connection:
            return str(database.read_meta(connection)["encoder"])
    except (IndexFailure, sqlite3.Error):
        return None
