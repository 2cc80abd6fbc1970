from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sparc_search.loaders.passages import content_hash
from sparc_search.records import Document, Section

BASE = Document("id", "text", "title", "source", {"a": "b"}, (Section(0, "h", 1, 2),))


def test_what_would_change_the_index_changes_the_hash() -> None:
    changed = [
        replace(BASE, text="texts"),
        replace(BASE, title="titles"),
        replace(BASE, metadata={"a": "c"}),
        replace(BASE, metadata={"a": "b", "c": ""}),
        *(replace(BASE, sections=(section,)) for section in (Section(1, "h", 1, 2), Section(0, "i", 1, 2))),
        *(replace(BASE, sections=(section,)) for section in (Section(0, "h", 2, 2), Section(0, "h", 1, 3))),
    ]
    hashes = [content_hash(document, 64) for document in (BASE, *changed)]
    assert len(set(hashes)) == len(hashes)
    assert content_hash(BASE, 65) != content_hash(BASE, 64)


def test_where_it_came_from_does_not() -> None:
    assert content_hash(replace(BASE, source="elsewhere", id="other"), 64) == content_hash(BASE, 64)
    one, two = {"a": "1", "b": "2"}, {"b": "2", "a": "1"}
    assert content_hash(replace(BASE, metadata=one), 64) == content_hash(replace(BASE, metadata=two), 64)


@given(*[st.text(max_size=5)] * 4)
def test_parts_do_not_run_together(title: str, text: str, other_title: str, other_text: str) -> None:
    same = content_hash(Document("d", text, title), 64) == content_hash(Document("d", other_text, other_title), 64)
    assert same == ((title, text) == (other_title, other_text))
