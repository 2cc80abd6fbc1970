"""Where things are in an index folder, which version of it is current, and who may write.

    CURRENT         name of the folder that counts
    data-1/         index.db, and segments/ with a folder for each segment
    write.lock      held by the one process that writes

A re-encoded index is built as `data-2` and takes over when CURRENT is replaced, in one step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ...errors import IndexDamaged, IndexFailure, IndexLocked, IndexNotFound
from ..derived_files import make_folder, replace_text
from .database import of_disk, refuse_link

if TYPE_CHECKING:
    from filelock import FileLock

CURRENT: Final = "CURRENT"
LOCK: Final = "write.lock"
SEGMENTS: Final = "segments"
_PREFIX: Final = "data-"
_NAME: Final = re.compile(rf"{_PREFIX}[0-9]+")
_LONGEST: Final = 100
"""Characters of CURRENT that are looked at: more than any name has."""


def current(location: Path) -> Path:
    """The folder that counts; `IndexNotFound` if there is no index."""
    refuse_link(location / CURRENT)
    try:
        with (location / CURRENT).open(encoding="ascii") as file:
            name = file.read(_LONGEST).strip()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        name = ""
    except OSError as error:
        raise of_disk(error, location) from error
    if not _NAME.fullmatch(name) or not (location / name).is_dir():
        _refuse_lost(location)
        raise no_index(location)
    return location / name


def _refuse_lost(location: Path) -> None:
    """`IndexDamaged` if there is a version, but not the one that is named: it must not be taken for nothing."""
    versions = [path for path in location.glob(f"{_PREFIX}*") if _is_version(path)]
    if versions and (location / CURRENT).is_file():
        newest = max(versions, key=_number).name
        raise IndexDamaged(
            f"{location / CURRENT} does not name a version of the index", f"write {newest!r} into that file"
        )


def _is_version(folder: Path) -> bool:
    return folder.is_dir() and folder.name.removeprefix(_PREFIX).isdecimal()


Found = TypeVar("Found")
Stamp = tuple[int, ...]
"""Which file stands at a place: another one there has another stamp."""


def stamp(location: Path) -> Stamp:
    """What changes whenever another version comes to count, or another index is made here; cheap to ask for."""
    try:
        found = os.stat(location / CURRENT)
    except (FileNotFoundError, NotADirectoryError):
        raise no_index(location) from None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def settled(location: Path, look: Callable[[], Found]) -> tuple[Stamp, Found]:
    """The stamp, and what is then found; looked for again if it is replaced, and its files removed, meanwhile."""
    while True:
        before = stamp(location)
        try:
            return before, look()
        except IndexFailure:
            if stamp(location) == before:
                raise


def file_stamp(file: Path) -> Stamp:
    """Which file stands at a path; empty if there is none."""
    try:
        found = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return found.st_dev, found.st_ino


def no_index(location: Path) -> IndexNotFound:
    """The error where there is nothing, or nothing any more."""
    return IndexNotFound(
        f"there is no index at {location}", "make one with `sparc-search ingest PATH`, or name another with --index"
    )


def gone_while_writing(location: Path) -> IndexNotFound:
    """The error for a writer whose files were taken away."""
    return IndexNotFound(
        f"the index at {location} was deleted or replaced while it was open for writing",
        "run the same command again: it writes to what is there now, or makes a new one",
    )


def exists(location: Path) -> bool:
    """Whether there is an index."""
    try:
        current(location)
    except IndexNotFound:
        return False
    return True


def next_folder(location: Path) -> Path:
    """Where the next version goes. Something may be there that was never finished."""
    number = _number(current(location)) + 1 if exists(location) else 1
    return location / f"{_PREFIX}{number}"


def has_versions(location: Path) -> bool:
    """Whether there is an index, sound or not."""
    return (location / CURRENT).exists()


def free_folder(location: Path) -> Path:
    """Where a version goes that comes from elsewhere, whatever is there."""
    numbers = [_number(path) for path in location.glob(f"{_PREFIX}*") if _is_version(path)]
    return location / f"{_PREFIX}{max(numbers, default=0) + 1}"


def clear(folder: Path) -> None:
    """Make a version's folder, empty."""
    from shutil import rmtree  # who only asks removes nothing

    rmtree(folder, ignore_errors=True)
    (folder / SEGMENTS).mkdir(parents=True)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_PREFIX))


def size_in_bytes(folder: Path) -> int:
    """Bytes of all files of a version."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def switch(location: Path, folder: Path) -> None:
    """Make a finished folder the one that counts."""
    replace_text(location / CURRENT, folder.name + "\n")


def remove_old(location: Path) -> None:
    """Remove versions that do not count any more. One that does not count yet may be continued."""
    from shutil import rmtree

    number = _number(current(location))
    for folder in location.glob(f"{_PREFIX}[0-9]*"):
        if _number(folder) < number:
            rmtree(folder, ignore_errors=True)


def lock(location: Path, patience: float = 1.0) -> FileLock:
    """Become the one writer, or, after so many seconds, say that there is another."""
    from filelock import FileLock, Timeout

    _refuse_foreign(location)
    _refuse_links(location)
    make_folder(location)
    held = FileLock(location / LOCK, thread_local=False)
    try:
        held.acquire(timeout=patience)
    except Timeout:
        raise IndexLocked(
            f"another process is writing to the index at {location}", "wait until it has finished, or stop it"
        ) from None
    return held


def _refuse_links(location: Path) -> None:
    """A folder from elsewhere must not lead a writer, which also clears away, to other places."""
    for places in ("*", f"{_PREFIX}*/*", f"{_PREFIX}*/{SEGMENTS}/*"):
        for path in location.glob(places):
            refuse_link(path)


def _refuse_foreign(location: Path) -> None:
    """A folder that holds something else must not become an index by a slip of the keyboard."""
    if not location.exists():
        return
    if not location.is_dir():
        raise IndexFailure(f"{location} is a file", "name a folder with --index")
    names = {path.name for path in location.iterdir()}
    if (
        names
        and CURRENT not in names
        and not all(n == LOCK or n.startswith(_PREFIX) or n.startswith(CURRENT) for n in names)
    ):
        raise IndexFailure(f"{location} holds other files and no index", "name a new or an empty folder with --index")
