"""Which node is asked, and when another one: without a server, by functions that answer, hang or fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from sparc_search.errors import EngineError
from sparc_search.stores.opensearch import nodes
from sparc_search.stores.opensearch.failures import Passing
from sparc_search.stores.opensearch.nodes import Ask, Nodes, Unreachable


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "SHORT", 0.05)


@pytest.fixture
def hang() -> Iterator[Ask]:
    """Answers when the test is over."""
    over = threading.Event()
    yield lambda more: over.wait(60)
    over.set()


def saying(value: object, seen: list[Mapping[str, object]] | None = None) -> Ask:
    def ask(more: Mapping[str, object]) -> object:
        if seen is not None:
            seen.append(more)
        return value

    return ask


def failing(error: Exception) -> Ask:
    def ask(more: Mapping[str, object]) -> object:
        raise error

    return ask


GONE = failing(Unreachable("gone"))
BUSY = failing(Passing("busy"))


def test_they_take_turns() -> None:
    three = Nodes(3)
    asks = [saying(number) for number in range(3)]
    assert sorted(three.one_after_the_other(asks) for _ in range(3)) == [0, 1, 2]
    assert sorted(three.first_to_answer(asks, near=True) for _ in range(3)) == [0, 1, 2]


@pytest.mark.parametrize("reads", [True, False])
def test_one_that_cannot_be_reached_is_passed_over_and_asked_last(reads: bool) -> None:
    three, tried = Nodes(3), list[int]()

    def gone(more: Mapping[str, object]) -> object:
        tried.append(1)
        raise Unreachable("gone")

    def answer() -> object:
        asks = [gone, saying("a"), saying("b")]
        return three.first_to_answer(asks, near=False) if reads else three.one_after_the_other(asks)

    assert {answer() for _ in range(9)} == {"a", "b"}
    assert len(tried) == 1


def test_when_none_can_be_reached_that_is_said() -> None:
    for way in (Nodes(2).one_after_the_other, lambda asks: Nodes(2).first_to_answer(asks, near=True)):
        with pytest.raises(Unreachable):
            way([GONE, GONE])


def test_one_that_hangs_is_overtaken_and_asked_last(hang: Ask) -> None:
    three, began, seen = Nodes(3), time.monotonic(), list[Mapping[str, object]]()
    for _ in range(6):
        assert three.first_to_answer([hang, saying("here", seen), saying("here", seen)], near=True) == "here"
    assert time.monotonic() - began < 1
    assert [more for more in seen if more] == [{"preference": "_local"}]


def test_busy_is_only_said_when_no_other_knows_better(hang: Ask) -> None:
    assert Nodes(3).first_to_answer([BUSY, saying("here"), BUSY], near=False) == "here"
    with pytest.raises(Passing, match="busy"):
        Nodes(2).first_to_answer([BUSY, BUSY], near=False)


def test_an_error_that_waiting_does_not_change_is_said_at_once() -> None:
    with pytest.raises(EngineError, match="wrong"):
        Nodes(2).first_to_answer([failing(EngineError("wrong"))] * 2, near=False)


def test_second_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    over, asked, lock = threading.Event(), list[int](), threading.Lock()

    def slow(more: Mapping[str, object]) -> object:
        with lock:
            asked.append(1)
        return over.wait(60)

    three, threads = Nodes(3), list[threading.Thread]()
    for _ in range(10):
        asking: Callable[[], object] = lambda: three.first_to_answer([slow] * 3, near=False)  # noqa: E731
        threads.append(threading.Thread(target=asking))
        threads[-1].start()
    time.sleep(0.5)
    with lock:
        assert len(asked) == 10 + nodes.AT_ONCE
    over.set()
    for thread in threads:
        thread.join()
