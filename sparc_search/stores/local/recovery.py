"""After a writer that did not close: derived files were synced before they counted, but the sums are checked once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ...errors import IndexDamaged, IndexLocked
from ..derived_files import check_sums
from . import database, layout
from .segment_files import listed_segments


def damaged_segments(connection: sqlite3.Connection, folder: Path) -> list[tuple[str, IndexDamaged]]:
    """Listed segments whose files are missing or changed, and what is wrong with each."""
    found = []
    for segment in listed_segments(connection):
        try:
            check_sums(folder / layout.SEGMENTS / segment.name, segment.files)
        except IndexDamaged as error:
            found.append((segment.name, error))
    return found


def check_before_reading(location: Path, folder: Path) -> None:
    """If the last writer was killed, check the sums, once; `IndexDamaged` names what to repair."""
    with database.opened(folder, writable=False) as connection:
        before = database.read_meta(connection)
    if before["clean"] or not _unless_someone_writes(location, lambda: None):
        return
    with database.opened(folder, writable=False) as connection:
        for _, error in damaged_segments(connection, folder):
            raise error
    _unless_someone_writes(location, lambda: _note_that_it_is_clean(folder, int(before["generation"])))


def _unless_someone_writes(location: Path, action: Callable[[], None]) -> bool:
    """Do something as the one writer; False if another process writes, or if this one may not."""
    try:
        held = layout.lock(location, patience=0)
    except (IndexLocked, OSError):
        return False
    try:
        action()
    finally:
        held.release()
    return True


def _note_that_it_is_clean(folder: Path, generation: int) -> None:
    """Spare the next reader the work, unless something has changed since."""
    with database.opened(folder, writable=True) as connection:
        if database.read_meta(connection)["generation"] == generation:
            database.write_meta(connection, clean=1)
