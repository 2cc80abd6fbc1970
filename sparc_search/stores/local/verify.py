"""Is everything in an index as it should be? Reads all of it: the database, every block, every posting and vector."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...errors import IndexDamaged, IndexFailure
from ...records import LEX
from ...stored import CheckReport, Problem
from .. import phrase_block
from ..block_checks import block_problems
from ..derived_files import check_sums
from ..features import FieldValues, decode_features
from . import database, layout, rows
from .packed_postings import Entries
from .postings import Postings, hash_of
from .segment import Segment
from .segment_files import ListedSegment, listed_segments, open_segment

COUNTS: Final = "counts"
SEGMENTS: Final = "segments"
"""Derived parts besides single segments: what is counted, and the list of segments as a whole."""

_TRIES: Final = 20
_CHANGED: Final = "has changed bytes in its row"
_MADE_AGAIN: Final = {"frequencies": COUNTS, "tag_counts": COUNTS, "batches": COUNTS, "segments": SEGMENTS}


@dataclass(slots=True)
class _SeenRows:
    """What the database says, to hold the segments against."""

    rows: list[int] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    sums: dict[int, int] = field(default_factory=dict)  # of a row's features
    vectors: dict[int, bytes] = field(default_factory=dict)
    frequencies: Counter[str] = field(default_factory=Counter)


def verify(folder: Path) -> CheckReport:
    """Check a version of an index. It may be written to meanwhile: one committed state is looked at.

    Files of that state may be replaced before it is their turn. So what is found in a state that is past is not told;
    another one is looked at.
    """
    for _ in range(_TRIES):
        before = _generation(folder)
        report = _verify(folder)
        if not report.problems or _generation(folder) == before:
            break
    return report


def _generation(folder: Path) -> object:
    """The number of the state, if it can be read."""
    try:
        with database.opened(folder, writable=False) as connection:
            return database.read_meta(connection)["generation"]
    except IndexFailure:
        return None


def _verify(folder: Path) -> CheckReport:
    with database.opened(folder, writable=False) as connection, database.transaction(connection, write=False):
        problems = list(_database(connection))
        if problems:  # the rest would only say the same in other words
            return CheckReport({}, tuple(problems))
        problems += _rows(connection)
        seen = _SeenRows()
        problems += _passages(connection, seen)
        problems += _counts(connection, seen)
        problems += _tombstones(connection)
        listed = [] if any(problem.derived == SEGMENTS for problem in problems) else listed_segments(connection)
        postings = 0
        for segment in listed:
            found, count = _segment(folder, segment, seen)
            problems += found
            postings += count
        if listed:
            problems += _coverage(connection, listed, seen)
        (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    counts = {"documents": documents, "passages": len(seen.rows), "segments": len(listed), "postings": postings}
    return CheckReport(counts, tuple(problems))


# --- the database ----------------------------------------------------------------------------------------------------


def _database(connection: sqlite3.Connection) -> Iterator[Problem]:
    try:
        for (line,) in connection.execute("PRAGMA integrity_check"):
            if line != "ok":
                yield Problem("database", str(line))
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            yield Problem("database", f"row {row} of {table} points to nothing in {parent}")
    except sqlite3.DatabaseError as error:
        yield Problem("database", str(error))


def _rows(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Rows that are not what was written, by their checksums."""
    ids = dict(connection.execute("SELECT row, id FROM documents").fetchall())
    for covered in rows.COVERED:
        table = covered[0]
        for found in rows.unlike(connection, covered):
            if table == "passages":
                yield Problem(f"passage {found['id']}", _CHANGED, document=ids.get(found["document"], ""))
            elif table == "documents":
                yield Problem(f"document {ids[found['row']]}", _CHANGED)
            else:
                yield Problem(f"{table} {next(iter(found.values()))}", _CHANGED, _MADE_AGAIN[table])


def _tombstones(connection: sqlite3.Connection) -> Iterator[Problem]:
    (dead,) = connection.execute("SELECT coalesce(sum(row), 0) FROM tombstones").fetchone()
    if dead != database.read_meta(connection)["dead"]:
        yield Problem("tombstones", "are not those that were written", SEGMENTS)


def _passages(connection: sqlite3.Connection, seen: _SeenRows) -> Iterator[Problem]:
    query = """
        SELECT p.row, p.id, d.id, length(p.text),
            e.block, e.block_checksum, e.features, e.features_checksum
        FROM passages p JOIN documents d ON d.row = p.document LEFT JOIN encoded e ON e.passage = p.row ORDER BY p.row
    """
    for row, id, document, length, data, checksum, features, features_checksum in connection.execute(query):
        seen.rows.append(row)
        seen.ids[row] = id
        if data is None:
            yield Problem(f"passage {id}", "has no phrase block", document=document)
            continue
        try:
            block = phrase_block.decode(rows.checked(id, data, checksum))
            values = decode_features(rows.checked(id, features, features_checksum))
        except IndexDamaged as error:
            yield Problem(f"passage {id}", error.message, document=document)
            continue
        yield from (Problem(f"passage {id}", what, document=document) for what in block_problems(block, length))
        seen.sums[row] = _feature_sum(values)
        seen.vectors[row] = block.passage_vector.tobytes()
        seen.frequencies.update(next(v.names for v in values if v.field == LEX))


def _counts(connection: sqlite3.Connection, seen: _SeenRows) -> Iterator[Problem]:
    meta = database.read_meta(connection)
    for table in ("documents", "passages"):
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if count != meta[table]:
            yield Problem("database", f"says {meta[table]} {table}, holds {count}")
    stored = dict(connection.execute("SELECT name, passages FROM frequencies").fetchall())
    wrong = [name for name in stored.keys() | seen.frequencies.keys() if stored.get(name, 0) != seen.frequencies[name]]
    if wrong and len(seen.sums) == len(seen.rows):
        yield Problem("database", f"counts {len(wrong)} terms wrongly, such as {min(wrong)!r}", COUNTS)
    counted = "SELECT key, value, count(*), sum(passage) FROM tags GROUP BY key, value"
    noted = "SELECT key, value, passages, rows FROM tag_counts"
    for query in (f"{counted} EXCEPT {noted}", f"{noted} EXCEPT {counted}"):
        for key, value, *_ in connection.execute(query):
            yield Problem("database", f"counts passages with {key}={value} wrongly", COUNTS)


# --- segments --------------------------------------------------------------------------------------------------------


def _segment(folder: Path, listed: ListedSegment, seen: _SeenRows) -> tuple[list[Problem], int]:
    where = f"segment {listed.name}"
    try:
        check_sums(folder / layout.SEGMENTS / listed.name, listed.files)
        segment = open_segment(folder, listed)
    except IndexDamaged as error:
        return [Problem(where, error.message, listed.name)], 0
    problems = list(_structure(segment)) or list(_content(segment, seen))
    return [Problem(where, what, listed.name) for what in problems], len(segment.postings)


def _structure(segment: Segment) -> Iterator[str]:
    """Whether every number is in its range."""
    postings, size = segment.postings, len(segment)
    if np.any(np.diff(segment.rows) <= 0) or (size and not segment.first <= segment.rows[0] <= segment.rows[-1]):
        yield "rows are out of order"
    if size and segment.rows[-1] > segment.last:
        yield "rows are out of range"
    if not np.array_equal(np.sort(segment.ranks), np.arange(size)):
        yield "ranks are no order"
    if len(segment.id_offsets) != size + 1 or segment.id_offsets[-1] != len(segment.ids):
        yield "ids do not fit their offsets"
    if len(segment.dense.vectors) != size or len(segment.dense.scales) != size:
        yield "there are more or fewer vectors than passages"
    if len(postings.offsets) != len(postings.keys) + 1:
        yield "features do not fit their offsets"
    elif np.any(postings.keys[1:] < postings.keys[:-1]) or np.any(postings.offsets[1:] <= postings.offsets[:-1]):
        yield "features are out of order"
    elif not postings.all.holds(len(postings)):
        yield "postings do not fit their offsets"
    elif any(entries.rows.max(initial=-1) >= size for _, entries in _in_steps(postings)):
        yield "a posting is out of range"


def _content(segment: Segment, seen: _SeenRows) -> Iterator[str]:
    """Whether it says what the database says, of the passages that are still there."""
    sums = _row_sums(segment)
    for number, row in enumerate(segment.rows.tolist()):
        if row not in seen.sums:
            continue  # deleted since, or reported already
        if segment.id(number) != seen.ids[row]:
            yield f"calls passage {seen.ids[row]} {segment.id(number)!r}"
        if int(sums[number]) != seen.sums[row]:
            yield f"has other features for passage {seen.ids[row]} than the database"
        if segment.dense.vectors[number].tobytes() != seen.vectors[row]:
            yield f"has another vector for passage {seen.ids[row]} than the database"


def _row_sums(segment: Segment) -> NDArray[np.uint64]:
    """A number for each row that depends on all its postings: the sum, modulo 2^64, of hash times value."""
    sums = np.zeros(len(segment), np.uint64)
    for keys, entries in _in_steps(segment.postings):
        np.add.at(sums, entries.rows, keys * entries.values)
    return sums


def _in_steps(postings: Postings) -> Iterator[tuple[NDArray[np.uint64], Entries]]:
    """All postings, and the key of each, some features at a time."""
    step = 1 << 16
    for begin in range(0, len(postings.keys), step):
        keys, offsets = postings.keys[begin : begin + step], postings.offsets[begin : begin + step + 1]
        yield keys.repeat(np.diff(offsets)), postings.entries([slice(int(offsets[0]), int(offsets[-1]))])


def _feature_sum(fields: list[FieldValues]) -> int:
    total = 0
    for values in fields:
        for name, value in zip(values.names, values.values.tolist(), strict=True):
            total += hash_of(values.field, name) * value
    return total % (1 << 64)


def _coverage(connection: sqlite3.Connection, listed: list[ListedSegment], seen: _SeenRows) -> Iterator[Problem]:
    """Every passage is in one segment, or newer than all of them."""
    dead = {row for (row,) in connection.execute("SELECT row FROM tombstones")}
    covered = max((segment.last for segment in listed), default=0)
    ends = 0
    for segment in listed:
        if segment.first <= ends:
            yield Problem(f"segment {segment.name}", "covers passages of the one before it", segment.name)
        ends = segment.last
        expected = sum(segment.first <= row <= segment.last for row in (*seen.rows, *dead))
        if expected != segment.passages:
            what = f"holds {segment.passages} passages, the database knows {expected} of that range"
            yield Problem(f"segment {segment.name}", what, segment.name)
    within = sum(row <= covered for row in seen.rows)
    inside = sum(any(s.first <= row <= s.last for s in listed) for row in seen.rows)
    if within != inside:
        yield Problem("segments", f"{within - inside} passages are in none of them", listed[0].name)
