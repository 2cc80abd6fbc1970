"""A writer's memory does not come to hold what it has written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all

from sparc_search.encoder import Encoder
from sparc_search.stores.derived_files import map_array, release, save_array


def resident(path: Path) -> int:
    """Kilobytes of a mapped file that this process has in memory."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith(str(path)))
    return next(int(line.split()[1]) for line in lines[at:] if line.startswith("Rss:"))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what is resident")
def test_a_mapped_array_is_released_and_can_still_be_read(tmp_path: Path) -> None:
    written = np.arange(1 << 18)
    save_array(tmp_path, "numbers", written)
    mapped = map_array(tmp_path, "numbers")
    assert np.array_equal(mapped, written)
    assert resident(tmp_path / "numbers.npy") >= 2_000
    release(mapped)
    assert resident(tmp_path / "numbers.npy") < 100
    assert np.array_equal(mapped, written)


def test_an_array_that_is_not_mapped_is_left_alone() -> None:
    array = np.arange(10)
    release(array[2:])
    assert array.sum() == 45


def test_asking_for_hashes_loads_no_segments(tmp_path: Path, toy_encoder: Encoder) -> None:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        assert store.content_hashes([DOCUMENTS[0].id, "nobody"]).keys() == {DOCUMENTS[0].id}
        assert store.engine._version._state is None  # type: ignore[attr-defined]


def test_a_writer_does_not_map_its_database(tmp_path: Path, toy_encoder: Encoder) -> None:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        with store.view() as view:
            assert [mapped(connection) for connection in (store.connection, view.connection)] == [0, 0]
    with open_local(tmp_path / "index", "", writable=False) as store, store.view() as view:
        assert mapped(view.connection) > 0


def mapped(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA mmap_size").fetchone()[0])
