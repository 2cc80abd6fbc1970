"""Files that are checked page by page, each page when it is first touched: what nobody reads costs nothing.

`sums.npy` of a folder holds the CRC-32 of each page of each other file, files by name. Its own sum, a sha256, stands
where the files are listed.
"""

from __future__ import annotations

import hashlib
import mmap
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .derived_files import PAGE, SUMS, check_sizes, damaged, replaceable

_SUMS_FILE = f"{SUMS}.npy"
Places = NDArray[np.int64]


class Pages:
    """The bytes of one file, and which of its pages are known to be what was written."""

    def __init__(self, path: Path, sums: NDArray[np.uint32]) -> None:
        self._path, self._sums = path, sums
        with replaceable(path), path.open("rb") as stream:
            self._bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self._seen = np.zeros(len(sums), bool)
        self._all_seen = False
        self._begin = self._item = 0

    def array(self) -> NDArray[Any]:
        """The array in it; of its bytes, only the page of its head is checked now."""
        self._check(0)
        head = BytesIO(self._bytes[:PAGE])
        version = np.lib.format.read_magic(head)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(head)
        self._begin, self._item = head.tell(), dtype.itemsize * int(np.prod(shape[1:]))
        return np.frombuffer(self._bytes, dtype, int(np.prod(shape)), self._begin).reshape(shape)

    def data(self) -> bytes:
        """All of its bytes."""
        self.touch_all()
        return self._bytes[:]

    def touch_all(self) -> None:
        """Check every page; `IndexDamaged` if one has changed, as of the others."""
        if not self._all_seen:
            self.touch_pages(np.arange(len(self._sums)))
            self._all_seen = True

    def touch(self, places: Places) -> None:
        """Check the pages of these entries of the array."""
        if not self._all_seen:
            first, last = self._page(places), self._page(places + 1, -1)
            self.touch_pages(np.concatenate([first, last]))

    def touch_ranges(self, begins: Places, ends: Places) -> None:
        """Check the pages of the entries of the array from each begin up to its end."""
        if not self._all_seen:
            filled = ends > begins
            first, last = self._page(begins[filled]), self._page(ends[filled], -1)
            whole = [np.arange(a + 1, b) for a, b in zip(first.tolist(), last.tolist(), strict=True) if b > a + 1]
            self.touch_pages(np.concatenate([first, last, *whole]))

    def touch_pages(self, pages: Places) -> None:
        """Check these pages, if nobody has."""
        for page in sorted(set(pages[~self._seen[pages]].tolist())):  # np.unique imports masked arrays, for 40 ms
            self._check(page)

    def _page(self, places: Places, bytes_more: int = 0) -> Places:
        return (self._begin + places * self._item + bytes_more) // PAGE

    def _check(self, page: int) -> None:
        with memoryview(self._bytes) as whole, whole[page * PAGE : (page + 1) * PAGE] as some:
            if zlib.crc32(some) != self._sums[page]:
                raise damaged(self._path, "has changed bytes")
        self._seen[page] = True


def open_pages(folder: Path, files: Mapping[str, tuple[int, str]]) -> dict[str, Pages]:
    """The files of a folder by name, none of them checked yet; `IndexDamaged` if one is missing or has another size."""
    check_sizes(folder, files)
    path = folder / _SUMS_FILE
    with replaceable(path):
        data = path.read_bytes()
    if _SUMS_FILE not in files or hashlib.sha256(data).hexdigest() != files[_SUMS_FILE][1]:
        raise damaged(path, "has changed bytes")
    sums: NDArray[np.uint32] = np.load(BytesIO(data), allow_pickle=False)
    pages, at = {}, 0
    for name in sorted(set(files) - {_SUMS_FILE}):
        count = -(-files[name][0] // PAGE)
        pages[name] = Pages(folder / name, sums[at : at + count])
        at += count
    return pages
