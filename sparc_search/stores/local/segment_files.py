"""Segments as folders of mapped arrays: written once, synced, then listed in the database with sizes and sums."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

from ..derived_files import Files, check_sizes, listed_files, map_array, save_array, sync_all
from ..vector_index import VectorIndex, write_faiss
from .layout import SEGMENTS
from .points import reach
from .postings import Postings
from .segment import Segment

_OWN = ("rows", "ids", "id_offsets", "ranks")
_DENSE = ("vectors", "scales")
_POSTINGS = ("keys", "checks", "offsets", "tops", "rows", "values")
FAISS = "dense.faiss"


def write_segment(segment: Segment, folder: Path) -> Files:
    """Write a segment to a new folder; its files."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed: it is not listed
    folder.mkdir(parents=True)
    for name in _OWN:
        save_array(folder, name, getattr(segment, name))
    for name in _DENSE:
        save_array(folder, name, getattr(segment.dense, name))
    for name in _POSTINGS:
        save_array(folder, f"posting_{name}", getattr(segment.postings, name))
    write_faiss(segment.dense.vectors, segment.dense.scales, folder / FAISS)
    return finished(folder)


def finished(folder: Path) -> Files:
    """Make the files of a new segment safe; what is returned belongs into the list of live segments."""
    reach("segment files written")
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
    query = "SELECT name, first, last, passages, files FROM segments ORDER BY first"
    return [
        ListedSegment(name, first, last, passages, json.loads(files))
        for name, first, last, passages, files in connection.execute(query)
    ]


def open_segment(folder: Path, listed: ListedSegment) -> Segment:
    """Map the files of a segment in an index folder; sizes and headers are checked, sums are not."""
    folder = folder / SEGMENTS / listed.name
    check_sizes(folder, listed.files)
    own = {name: map_array(folder, name) for name in _OWN}
    postings = Postings(**{name: map_array(folder, f"posting_{name}") for name in _POSTINGS})
    vectors, scales = (map_array(folder, name) for name in _DENSE)
    dense = VectorIndex(vectors, scales, folder / FAISS if FAISS in listed.files else None)
    return Segment(listed.first, listed.last, **own, postings=postings, dense=dense)
