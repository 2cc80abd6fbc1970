from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparc_search.loaders.seen import Seen


@pytest.fixture
def seen() -> Iterator[Seen]:
    seen = Seen()
    yield seen
    seen.close()


def test_an_id_is_met_once(seen: Seen) -> None:
    assert seen.meet("a", "1") is None
    assert seen.meet("a", "2") == "1"
    assert seen.meet("b", "2") is None
    assert "a" in seen
    assert "c" not in seen


def test_doubt_covers_what_is_below(seen: Seen) -> None:
    seen.doubt("/corpus/locked")
    assert seen.in_doubt("/corpus/locked")
    assert seen.in_doubt("/corpus/locked/deep/file.md")
    assert not seen.in_doubt("/corpus/locked.md")
    assert not seen.in_doubt("/corpus")


def test_the_missed_come_back_once_and_in_order(seen: Seen) -> None:
    for name in ("b", "a", "b"):
        seen.miss(name, f"/{name}")
    assert list(seen.missed()) == [("a", "/a"), ("b", "/b")]
