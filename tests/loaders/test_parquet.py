from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.resuming import Item
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]
ReadFiles = Callable[..., list[Document | Passed]]


def parquet(columns: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def test_rows_are_documents(items: Items) -> None:
    data = parquet({"id": [1, 2], "text": ["a", "b"], "title": ["A", None], "year": [1999, None]})
    assert items("parquet", data, "f.parquet") == [
        Document("1", "a", "A", "f.parquet", {"year": "1999"}),
        Document("2", "b", "", "f.parquet"),
    ]


def test_more_rows_than_one_batch_and_a_bad_one(items: Items) -> None:
    texts = [f"text {number}" for number in range(200)]
    found = items("parquet", parquet({"text": texts, "id": [1.5] + [None] * 199}), "f.parquet")
    assert isinstance(found[0], RejectedDocument)
    assert "row 1: its id is 1.5" in found[0].message
    assert [item.text for item in found[1:] if isinstance(item, Document)] == texts[1:]


def test_damaged_files_are_rejected(reject: Reject) -> None:
    data = parquet({"text": ["a"]})
    assert "Parquet" in reject("parquet", data[:-20])
    assert reject("parquet", b"PAR1 nonsense PAR1")
    assert reject("parquet", b"")


def test_a_long_value_repeated_a_thousand_times_fills_no_memory(read_files: ReadFiles, tmp_path: Path) -> None:
    """50 MB a row if it were spread out: 50 GB out of a file of a few KB."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 50_000_000]))
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"text": texts}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    found = read_files(path)
    assert all(isinstance(item, Passed) and item.kind == "rejected" for item in found)


def test_without_the_extra_the_remedy_is_to_install_it(items: Items, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pyarrow(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    (found,) = items("parquet", b"PAR1")
    assert isinstance(found, RejectedDocument)
    assert found.remedy == "pip install 'sparc-search[parquet]'"
