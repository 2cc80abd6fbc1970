from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.encoder import Encoder
from sparc_search.errors import RejectedDocument
from sparc_search.loaders.passages import cut
from sparc_search.loaders.resuming import Item
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document
from sparc_search.source_lines import line_of

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]
ReadFiles = Callable[..., list[Document | Passed]]


def test_an_array_of_objects_is_a_document_each(items: Items) -> None:
    huts = [{"id": "a", "title": "Old", "text": "It has 12 beds."}, {"name": "New", "beds": 3}, {"text": 7, "id": [1]}]
    for value in (huts, {"total": 3, "items": huts}):
        old, new, bad = items("json", json.dumps(value).encode(), "huts.json")
        assert old == Document("a", "It has 12 beds.", "Old", "huts.json")
        assert isinstance(new, Document)
        assert (new.id, new.text, new.title) == ("huts.json#2", "name: New\nbeds: 3", "huts")
        assert new.metadata == {"name": "New", "beds": "3"}
        assert isinstance(bad, RejectedDocument)
        assert bad.message.startswith("object 3: ")


def test_a_nested_object_is_one_document(one: One) -> None:
    value = {
        "name": "shop",
        "address": {"city": "Bern", "geo": {"lat": 1.5}},
        "tags": ["a", "b"],
        "hours": [{"day": "Mon", "open": "8"}, {"day": "Tue", "open": "9"}],
    }
    document = one("json", json.dumps(value).encode(), "shop.json")
    assert document.title == "shop"
    assert document.text == (
        "name: shop\ntags: a, b\nhours\nday | open\nMon | 8\nTue | 9\n\naddress\n\ncity: Bern\n\ngeo\n\nlat: 1.5"
    )
    assert [section.heading for section in document.sections if not section.kind] == ["address", "address › geo"]


def test_squad_is_told_by_its_paragraphs(one: One) -> None:
    article = {"title": "Huts", "paragraphs": [{"context": "It has 12 beds.", "qas": []}]}
    assert one("json", json.dumps({"data": [article]}).encode(), "dev.json").title == "Huts"


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b'{"a": 1} x', b'{"a":' * 300 + b"1" + b"}" * 300])
def test_what_cannot_be_read_is_rejected(reject: Reject, data: bytes) -> None:
    assert reject("json", data)


def test_messages_are_a_chat(items: Items) -> None:
    said = [
        {"from": "Ada", "text": ["The key is ", {"text": "4711"}], "date": "2024-03-12T10:31:00"},
        {"author": {"name": "Bob"}, "content": "Thanks", "timestamp": 1710239520},
        {"user": "Ada", "text": "Bye", "ts": "1710325920.000100"},
    ]
    first, second = items("json", json.dumps({"name": "huts", "messages": said}).encode(), "chat.json")
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, first.metadata) == ("chat.json#2024-03-12", {"date": "2024-03-12"})
    assert first.text == "Date: 2024-03-12\n10:31, Ada: The key is 4711\n10:32, Bob: Thanks"
    assert second.id == "chat.json#2024-03-13"


def test_articles_with_an_author_are_no_chat(items: Items) -> None:
    articles = [{"title": "Huts", "author": "Ada", "date": "2024-03-12", "text": "It has 12 beds."}] * 2
    assert [item.title for item in items("json", json.dumps(articles).encode()) if isinstance(item, Document)] == [
        "Huts",
        "Huts",
    ]


LINES = """12/03/2024, 10:30 - Messages are encrypted.
12/03/2024, 10:31 - Ada: The key is 4711
and the hut is old
12/03/2024, 10:32 - Bob: Where: there?
[13.03.24, 9:00:05] Ada: Bye
"""


def test_lines_with_date_and_author_are_a_chat(items: Items) -> None:
    for reader in ("text", "chat"):
        first, second = items(reader, LINES.encode(), "chat.txt")
        assert isinstance(first, Document)
        assert isinstance(second, Document)
        assert first.text == (
            "Date: 12/03/2024\n10:31, Ada: The key is 4711\nand the hut is old\n10:32, Bob: Where: there?"
        )
        assert second.text == "Date: 13.03.24\n9:00:05, Ada: Bye"


def test_a_text_with_some_dates_is_none(one: One, reject: Reject) -> None:
    text = "2024-03-12 10:31 - Ada: one\nAnd then\nwe went\nup to\nthe hut.\n"
    assert one("text", text.encode(), "a.txt").text == text
    assert "no chat" in reject("chat", b"Just words.")


@pytest.mark.parametrize("indent", [None, 1])
def test_an_answer_in_json_knows_its_line(
    read_files: ReadFiles, tmp_path: Path, toy_encoder: Encoder, indent: int | None
) -> None:
    """Whatever is written with a backslash there: line ends, quotation marks, letters beyond ASCII."""
    records = [{"id": str(number), "text": f'Hut {number}\n"Zürich"\nhas {number + 7} beds.'} for number in range(3)]
    path = tmp_path / ("huts.json" if indent else "huts.jsonl")
    path.write_text(json.dumps(records, indent=1) if indent else "\n".join(map(json.dumps, records)))
    lines = path.read_text().splitlines()
    for document, record in zip(read_files(path), records, strict=True):
        assert isinstance(document, Document)
        (passage,) = cut(document, toy_encoder)
        start = passage.text.index("Zürich")
        line = line_of(passage, start, start + 6)
        assert line is not None
        assert f"Hut {record['id']}" in lines[line - 1]
