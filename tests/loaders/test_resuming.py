from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparc_search.errors import MissingExtra, RejectedDocument
from sparc_search.loaders.resuming import Resuming, items_of
from sparc_search.records import Document

GOOD, BAD = Document("a", "text"), RejectedDocument("bad", "remedy")


def test_it_raises_for_one_and_goes_on() -> None:
    documents = Resuming([BAD, GOOD, BAD])
    with pytest.raises(RejectedDocument):
        next(documents)
    assert next(documents) is GOOD
    with pytest.raises(RejectedDocument):
        next(documents)
    assert list(documents) == []


def test_there_and_back() -> None:
    assert list(items_of(lambda: Resuming([GOOD, BAD, GOOD]))) == [GOOD, BAD, GOOD]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("odd"), "ValueError: odd"),
        (MissingExtra("this", "parquet"), "parquet"),
        (MemoryError(), "memory"),
        (BAD, "bad"),
    ],
)
def test_any_failure_of_a_reader_is_one_reject(error: Exception, message: str) -> None:
    def generator() -> Iterator[Document]:
        yield GOOD
        raise error

    def at_once() -> Iterator[Document]:
        raise error

    for read, before in ((generator, 1), (at_once, 0)):
        found = list(items_of(read))
        assert len(found) == before + 1
        assert isinstance(found[-1], RejectedDocument)
        assert message in found[-1].message
        assert found[-1].remedy
