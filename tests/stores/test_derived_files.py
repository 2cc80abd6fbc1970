"""Derived files: arrays as numpy writes them, and a disk that refuses them says why."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from sparc_search.stores.derived_files import map_array, save_array
from sparc_search.stores.vector_index import PLAIN_BELOW, write_faiss


@pytest.mark.parametrize(
    "array",
    [np.arange(5, dtype=np.int64), np.zeros((0, 0), np.int8), np.ones((3, 4), np.float32).T, np.zeros(0, np.uint8)],
    ids=["numbers", "no vectors", "turned", "nothing"],
)
def test_an_array_is_written_as_numpy_does(tmp_path: Path, array: np.ndarray) -> None:
    save_array(tmp_path, "ours", array)
    np.save(tmp_path / "theirs.npy", np.ascontiguousarray(array), allow_pickle=False)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    assert np.array_equal(map_array(tmp_path, "ours"), array)


def test_a_full_disk_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "array.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space") as raised:
        save_array(tmp_path, "array", np.zeros(100_000))
    assert raised.value.errno == errno.ENOSPC
    count = 4 * PLAIN_BELOW
    vectors = np.random.default_rng(1).integers(-127, 127, (count, 8)).astype(np.int8)
    with pytest.raises(OSError, match=r"No space|Input/output"):
        write_faiss(vectors, np.ones(count, np.float32), tmp_path / "array.npy")
