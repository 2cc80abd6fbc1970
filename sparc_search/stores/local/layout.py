"""Where things are in an index folder, which version of it is current, and who may write.

    CURRENT         name of the folder that counts
    data-1/         index.db, and segments/ with a folder for each segment
    write.lock      held by the one process that writes

A re-encoded index is built as `data-2` and takes over when CURRENT is replaced, in one step.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import IndexFailure, IndexLocked, IndexNotFound
from ..derived_files import replace_text

if TYPE_CHECKING:
    from filelock import FileLock

CURRENT: Final = "CURRENT"
LOCK: Final = "write.lock"
SEGMENTS: Final = "segments"
_PREFIX: Final = "data-"


def current(location: Path) -> Path:
    """The folder that counts; `IndexNotFound` if there is no index."""
    try:
        name = (location / CURRENT).read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        name = ""
    if not name.startswith(_PREFIX) or not (location / name).is_dir():
        raise IndexNotFound(
            f"there is no index at {location}", "make one with `sparc-search ingest PATH`, or name another with --index"
        )
    return location / name


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


def clear(folder: Path) -> None:
    """Make a version's folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
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
    number = _number(current(location))
    for folder in location.glob(f"{_PREFIX}[0-9]*"):
        if _number(folder) < number:
            shutil.rmtree(folder, ignore_errors=True)


def lock(location: Path, patience: float = 1.0) -> FileLock:
    """Become the one writer, or, after so many seconds, say that there is another."""
    from filelock import FileLock, Timeout

    _refuse_foreign(location)
    location.mkdir(parents=True, exist_ok=True)
    held = FileLock(location / LOCK, thread_local=False)
    try:
        held.acquire(timeout=patience)
    except Timeout:
        raise IndexLocked(
            f"another process is writing to the index at {location}", "wait until it has finished, or stop it"
        ) from None
    return held


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
