"""Segments as folders of mapped arrays: written once, synced, then listed in the database with sizes and sums."""

from __future__ import annotations

import json
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..derived_files import Files, listed_files, save_array, sync_all, write_page_sums
from ..page_sums import Pages, open_pages
from ..vector_index import VectorIndex, write_faiss
from . import figures
from .checksums import changed, crc
from .layout import SEGMENTS
from .points import reach
from .postings import Postings
from .segment import Segment

_OWN = ("rows", "ids", "id_offsets", "ranks")
_DENSE = ("vectors", "scales")
POSTINGS = ("keys", "offsets", "frame", "packed", "common", "tops")
_SMALL = ("frame", "common", "tops")
FAISS = "dense.faiss"
_KINDS = (".npy", ".faiss", ".json")


def write_segment(segment: Segment, folder: Path) -> Files:
    """Write a segment to a new folder; its files."""
    import shutil  # who only asks writes none

    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed: it is not listed
    folder.mkdir(parents=True)
    for name in _OWN:
        save_array(folder, name, getattr(segment, name))
    for name in _DENSE:
        save_array(folder, name, getattr(segment.dense, name))
    write_postings(segment.postings, folder)
    write_faiss(segment.dense.vectors, segment.dense.scales, folder / FAISS)
    figures.write(segment.figures() or {}, folder)
    return finished(folder)


def write_postings(postings: Postings, folder: Path) -> None:
    """Write the files of the inverted index."""
    for name in POSTINGS:
        save_array(folder, f"posting_{name}", getattr(postings, name))


def finished(folder: Path) -> Files:
    """Make the files of a new segment safe; what is returned belongs into the list of live segments."""
    reach("segment files written")
    write_page_sums(folder)
    files = listed_files(folder)
    sync_all(folder)
    reach("segment files synced")
    return files


class ListedSegment(NamedTuple):
    """A segment as the database lists it."""

    name: str
    first: int
    last: int
    passages: int
    files: Files


def listed_segments(connection: sqlite3.Connection) -> list[ListedSegment]:
    """The live segments, in the order of their rows."""
    query = "SELECT name, first, last, passages, files, checksum FROM segments ORDER BY first"
    return [_listed(*values) for values in connection.execute(query)]


def _listed(name: str, first: int, last: int, passages: int, files: str, checksum: int) -> ListedSegment:
    if crc(name, first, last, passages, files) != checksum:
        raise changed(f"the list of files of segment {name!r}")
    listed = ListedSegment(name, first, last, passages, json.loads(files))
    if not name.isdecimal() or any(Path(file).suffix not in _KINDS or Path(file).name != file for file in listed.files):
        raise changed(f"the list of files of segment {name!r}")  # by somebody who knows how to count the sum
    return listed


def list_segment(connection: sqlite3.Connection, segment: ListedSegment) -> None:
    """Add a segment to the live ones."""
    values = (*segment[:4], json.dumps(segment.files))
    connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", (*values, crc(*values)))


def open_segment(folder: Path, listed: ListedSegment) -> Segment:
    """Map the files of a segment in an index folder. What is small is checked now, the rest when it is touched."""
    folder = folder / SEGMENTS / listed.name
    pages = open_pages(folder, listed.files)
    own = {name: _whole(pages[f"{name}.npy"]) for name in _OWN}
    posting_pages = {name: pages[f"posting_{name}.npy"] for name in POSTINGS}
    arrays = {name: _whole(file) if name in _SMALL else file.array() for name, file in posting_pages.items()}
    postings = Postings(**arrays, pages=posting_pages)
    vectors, scales = pages["vectors.npy"].array(), _whole(pages["scales.npy"])
    faiss_file = folder / FAISS if FAISS in listed.files else None
    dense = VectorIndex(vectors, scales, faiss_file, [pages[name] for name in ("vectors.npy", FAISS) if name in pages])
    kept = cache(lambda: figures.read(pages.get(figures.FILE)))
    return Segment(listed.first, listed.last, **own, postings=postings, dense=dense, figures=kept)


def _whole(file: Pages) -> NDArray[Any]:
    file.touch_all()
    return file.array()
