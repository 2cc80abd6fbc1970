from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.frames import FrameTooLarge, item_from_json, item_to_json, pack, receive, unpack
from sparc_search.records import Document, Section

SECTIONS = st.builds(Section, st.integers(0), st.text(), st.none() | st.integers(0), st.integers(0))
TEXT = st.text()
DOCUMENTS = st.builds(
    Document, TEXT, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT), st.lists(SECTIONS, max_size=3).map(tuple)
)


@given(DOCUMENTS)
def test_documents_come_back_the_same(document: Document) -> None:
    assert item_from_json(json.loads(json.dumps(item_to_json(document)))) == document


def test_rejects_come_back_the_same() -> None:
    back = item_from_json(item_to_json(RejectedDocument("why", "what to do")))
    assert isinstance(back, RejectedDocument)
    assert (back.message, back.remedy) == ("why", "what to do")


GOOD = item_to_json(Document("i", "t", sections=(Section(0),)))["document"]


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"document": {}},
        {"document": {**GOOD, "text": 1}},
        {"document": {**GOOD, "metadata": {"a": 1}}},
        {"document": {**GOOD, "sections": [[-1, "", None, 0]]}},
        {"document": {**GOOD, "sections": [[True, "", None, 0]]}},
        {"document": {**GOOD, "sections": [[0, ""]]}},
        {"reject": ["a", None]},
        {"reject": "abc"},
    ],
)
def test_nonsense_is_refused(message: Any) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        item_from_json(message)


def test_over_the_line() -> None:
    here, there = socket.socketpair()
    with here, there:
        data = pack({"a": "ü" * 10})
        here.sendall(data)
        assert receive(there, limit=1000) == {"a": "ü" * 10}
        here.sendall(data[20:])
        assert unpack(data[:20], there) == {"a": "ü" * 10}
        here.sendall(data)
        with pytest.raises(FrameTooLarge):
            receive(there, limit=10)


def test_a_line_that_is_silent_or_dead() -> None:
    here, there = socket.socketpair()
    with here, there:
        with pytest.raises(TimeoutError):
            receive(there, limit=1000, seconds=0.01)
        here.sendall(pack({})[:-1])
        here.close()
        with pytest.raises(EOFError):
            receive(there, limit=1000, seconds=10)
