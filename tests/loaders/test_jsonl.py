from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.limits import LINE_BYTES
from sparc_search.loaders.resuming import Item
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]


def line(**record: object) -> bytes:
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (
            {"id": "a", "title": " T ", "text": "x", "metadata": {"lang": "en"}, "year": 1999, "ok": True},
            Document("a", "x", "T", "f.jsonl", {"lang": "en", "year": "1999", "ok": "true"}),
        ),
        ({"_id": "7", "title": "T", "text": "x"}, Document("7", "x", "T", "f.jsonl")),
        ({"id": 7, "contents": "x\ny"}, Document("7", "x\ny", "", "f.jsonl")),
        ({"title": "T", "text": "x", "src": "w"}, Document("f.jsonl#1", "x", "T", "f.jsonl", {"src": "w"})),
        ({"id": None, "title": None, "text": "x", "none": None}, Document("f.jsonl#1", "x", "", "f.jsonl")),
        ({"text": "x", "tags": ["a", 1]}, Document("f.jsonl#1", "x", "", "f.jsonl", {"tags": '["a", 1]'})),
        ({"text": "x", "page": "y" * 1001}, Document("f.jsonl#1", "x", "", "f.jsonl")),
    ],
)
def test_known_forms(one: One, record: dict[str, object], wanted: Document) -> None:
    assert one("jsonl", line(**record), "f.jsonl") == wanted


def test_fields_can_be_named(one: One) -> None:
    options = {"id_field": "key", "text_field": "abstract", "title_field": "name"}
    document = one("jsonl", line(key="k", abstract="x", name="N", text="other", id=3), "f.jsonl", **options)
    assert document == Document("k", "x", "N", "f.jsonl", {"text": "other", "id": "3"})


def test_a_bad_line_is_one_reject_and_the_others_are_read(items: Items) -> None:
    bad = [b"[1, 2]\n", b'"text"\n', b"{broken\n", line(text=5), line(title="no text"), line(id=[1], text="x")]
    data = line(text="first") + b"\n" + b"".join(bad) + b"\xff\n" + b"[" * 100_000 + b"\n" + line(text="last")
    found = items("jsonl", data, "f.jsonl")
    assert [item.id for item in found if isinstance(item, Document)] == ["f.jsonl#1", "f.jsonl#11"]
    reasons = [item.message for item in found if isinstance(item, RejectedDocument)]
    assert [reason.partition(":")[0] for reason in reasons] == [f"line {number}" for number in range(3, 11)]
    assert "not UTF-8: byte 0xff at position" in reasons[6]


def test_a_named_field_that_is_missing_is_said_with_those_there_are(reject: Reject) -> None:
    assert "no field 'body': the fields are 'id', 'text'" in reject("jsonl", line(id=1, text="x"), text_field="body")


def test_a_line_of_200_megabytes_is_one_reject_and_never_in_memory(
    read_files: Callable[..., list[Document | Passed]], tmp_path: Path
) -> None:
    import tracemalloc

    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.write(line(text="first"))
        file.truncate(200_000_000)  # the rest is one line of NUL bytes, without room on the disk
        file.seek(0, 2)
        file.write(b"\n" + line(text="last"))
    tracemalloc.start()
    first, bad, last = read_files(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(bad, Passed)
    assert "line 2 has 199,99" in bad.reason
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert last.id == "huge.jsonl#3"
    assert peak < 3 * LINE_BYTES
