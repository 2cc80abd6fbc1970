"""docs/format.md says what the code does: the tables, the head of a block, its columns, the files of a segment."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from sparc_search.stores.block_layout import FIELDS, FORMAT, HEAD, MATRIX, Column
from sparc_search.stores.local import database, segment_files

PAGE = (Path(__file__).resolve().parent.parent / "docs/format.md").read_text(encoding="utf-8")
NOW, _, PLANNED = PAGE.partition("\n## Planned, not built\n")


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def test_the_number_is_that_of_the_code() -> None:
    assert f"## Format {database.FORMAT}\n" in NOW
    assert f"`SPB` and the number {FORMAT} " in NOW
    assert PLANNED


def test_every_table_is_listed_with_every_column(tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    database.create(tmp_path, "someone")
    connection = sqlite3.connect(tmp_path / database.FILE)
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    listed = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", NOW, re.MULTILINE))
    for table in tables:
        if not table.startswith("sqlite_"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            assert [name for name in columns if name not in names(listed[table])] == [], table
    facts = [row[0] for row in connection.execute("SELECT key FROM meta")]
    connection.close()
    assert [fact for fact in facts if fact not in names(listed["meta"])] == []


def test_the_head_of_a_block_is_listed_byte_by_byte() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| `([^`]+)`(?: × (\d+))? \|", NOW, re.MULTILINE)
    assert [(int(byte), name) for byte, name, _, _ in rows] == [(FIELDS[name][1], name) for name in FIELDS]
    for byte, name, kind, count in rows:
        assert FIELDS[name][0].itemsize == int(kind[-1]) * int(count or 1), (byte, name)
    assert f"a head of {HEAD.itemsize} bytes, {MATRIX.itemsize} bytes for each sparse matrix" in NOW
    assert f"then {len(Column)} columns" in NOW


def test_the_columns_of_a_block_are_listed_in_their_order() -> None:
    table = NOW[NOW.index("| column | holds |") : NOW.index("Coding loses nothing")]
    listed = [name for name in names(table) if name.isupper()]
    assert listed == [column.name for column in Column]


def test_the_files_of_a_segment_are_listed() -> None:
    table = NOW[NOW.index("| file | type | holds |") : NOW.index("Sizes are checked at every opening")]
    arrays = [*segment_files._OWN, *segment_files._DENSE, *(f"posting_{name}" for name in segment_files.POSTINGS)]
    assert [
        name for name in (*arrays, segment_files.FAISS, segment_files.figures.FILE) if name not in names(table)
    ] == []
