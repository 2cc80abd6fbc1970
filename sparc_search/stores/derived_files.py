"""Files that are derived from a store: mapped arrays, sums, and making them safe from a power cut."""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged

Files = dict[str, tuple[int, str]]
"""file name -> size in bytes, sha256"""

SUMS: Final = "sums"
PAGE: Final = 1 << 16
"""Bytes that have one sum."""

_SMALL = 1 << 12


def save_array(folder: Path, name: str, array: NDArray[Any]) -> None:
    """Write an array as a file of its own, as `np.save` does, which does not tell why a disk has refused it."""
    array = np.ascontiguousarray(array)
    with (folder / f"{name}.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
        stream.write(array.data if array.size else b"")


def map_array(folder: Path, name: str) -> NDArray[Any]:
    """Map an array's file; a small one is read."""
    path = folder / f"{name}.npy"
    try:
        with replaceable(path):
            if path.stat().st_size <= _SMALL:  # an empty array cannot be mapped
                array: NDArray[Any] = np.load(path, allow_pickle=False)
                return array
            # A plain array over the mapping: `memmap` is slow to slice.
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise damaged(path, "does not begin as it should") from error


def release(array: NDArray[Any]) -> None:
    """Let go of the memory that a mapped array has come to fill; it can still be read. Others stay as they are."""
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)  # of a file that is only read: the pages come again when they are asked for


def write_page_sums(folder: Path) -> None:
    """Write the CRC-32 of each page of each file of a folder, files by name, so that a page can be checked alone."""
    sums = [zlib.crc32(page) for path in sorted(folder.iterdir()) for page in _pages(path)]
    save_array(folder, SUMS, np.array(sums, np.uint32))


def _pages(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while page := stream.read(PAGE):
            yield page


def listed_files(folder: Path) -> Files:
    """Every file of a folder with size and sum."""
    return {path.name: (path.stat().st_size, checksum(path)) for path in sorted(folder.iterdir())}


def check_sizes(folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
    """`IndexDamaged` if a file is missing or has another size: quick, done at every opening."""
    for name, (size, _) in files.items():
        path = folder / name
        with replaceable(path):
            found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise damaged(path, "is no file")
        if found.st_size != size:
            raise damaged(path, "has another size than it was written with")


def check_sums(folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
    """`IndexDamaged` if the bytes of a file have changed: reads everything."""
    check_sizes(folder, files)
    for name, (_, wanted) in files.items():
        with replaceable(folder / name):
            found = checksum(folder / name)
        if found != wanted:
            raise damaged(folder / name, "has changed bytes")


@contextmanager
def replaceable(path: Path) -> Iterator[None]:
    """`IndexDamaged` if a file is not there, or no longer: a writer may have replaced it. The disk is not to blame."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise damaged(path, "is missing") from None


def checksum(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync_all(folder: Path) -> None:
    """Make the files of a new folder, and the folder itself, safe from a power cut."""
    for path in folder.iterdir():
        sync(path)
    sync(folder)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, safe from a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are not there, and all of them safe from a power cut."""
    if not path.exists():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def replace_text(path: Path, text: str) -> None:
    """Put a new small file in the place of the old one, in one step."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text, encoding="utf-8")
    sync(draft)
    os.replace(draft, path)
    sync(path.parent)


def damaged(path: Path, how: str) -> IndexDamaged:
    """The error for a derived file that is not what it was."""
    return IndexDamaged(f"{path} {how}", "`sparc-search index verify --repair` makes it again from the database")
