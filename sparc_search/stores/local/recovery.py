"""After a writer that did not close: derived files were synced before they counted, but the sums are checked once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ...errors import IndexDamaged, IndexLocked
from ..derived_files import check_sums
from . import database, layout


def damaged_segments(connection: sqlite3.Connection, folder: Path) -> list[tuple[str, IndexDamaged]]:
    """Listed segments whose files are missing or changed, and what is wrong with each."""
    from .writer import listed_segments

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
    if before["clean"] or not _nobody_writes(location):
        return
    with database.opened(folder, writable=False) as connection:
        for _, error in damaged_segments(connection, folder):
            raise error
    _note_that_it_is_clean(location, folder, int(before["generation"]))


def _nobody_writes(location: Path) -> bool:
    try:
        layout.lock(location, patience=0).release()
    except (IndexLocked, OSError):
        return False
    return True


def _note_that_it_is_clean(location: Path, folder: Path, generation: int) -> None:
    """Spare the next reader the work. Where this one may not write, or someone else does, it is left undone."""
    try:
        held = layout.lock(location, patience=0)
    except (IndexLocked, OSError):
        return
    try:
        with database.opened(folder, writable=True) as connection:
            if database.read_meta(connection)["generation"] == generation:
                database.write_meta(connection, clean=1)
    finally:
        held.release()
