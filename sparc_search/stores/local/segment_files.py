"""Segments as folders of mapped arrays: written once, synced, then listed in the database with sizes and sums."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import IndexDamaged
from .points import reach
from .postings import Postings
from .segment import Segment

Files = dict[str, tuple[int, str]]
"""file name -> size in bytes, sha256"""

_OWN = ("rows", "ids", "id_offsets", "ranks", "vectors", "scales")
_POSTINGS = ("keys", "checks", "offsets", "rows", "values")


def write_segment(segment: Segment, folder: Path) -> Files:
    """Write a segment to a new folder; what is returned belongs into the list of live segments."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed: it is not listed
    folder.mkdir(parents=True)
    arrays = {name: getattr(segment, name) for name in _OWN}
    arrays |= {f"posting_{name}": getattr(segment.postings, name) for name in _POSTINGS}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    reach("segment files written")
    files = {path.name: (path.stat().st_size, checksum(path)) for path in sorted(folder.iterdir())}
    for name in files:
        sync(folder / name)
    sync(folder)
    sync(folder.parent)
    reach("segment files synced")
    return files


def open_segment(folder: Path, first: int, last: int, files: Mapping[str, tuple[int, str]]) -> Segment:
    """Map a segment's files; sizes and headers are checked, sums are not."""
    for name, (size, _) in files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise damaged(path, "is missing or has another size")
    own = {name: _map(folder / f"{name}.npy") for name in _OWN}
    postings = Postings(**{name: _map(folder / f"posting_{name}.npy") for name in _POSTINGS})
    return Segment(first, last, **own, postings=postings)


def _map(path: Path) -> NDArray[Any]:
    try:
        if path.stat().st_size <= 1 << 12:  # an empty array cannot be mapped, a small one need not be
            array: NDArray[Any] = np.load(path, allow_pickle=False)
            return array
        # A plain array over the mapping: `memmap` is slow to slice.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise damaged(path, "does not begin as it should") from error


def checksum(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, safe from a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def damaged(path: Path, how: str) -> IndexDamaged:
    """The error for a derived file that is not what it was."""
    return IndexDamaged(f"{path} {how}", "`sparc-search index verify --repair` makes it again from the database")
