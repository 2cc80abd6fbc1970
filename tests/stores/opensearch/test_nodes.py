"""Which node is asked, and when another one: without a server, by functions that answer, hang or fail."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sparc_search.errors import EngineError, IndexNotFound
from sparc_search.stores.opensearch import bulk, nodes, server
from sparc_search.stores.opensearch.failures import Passing
from sparc_search.stores.opensearch.nodes import Ask, Nodes, Unreachable


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "SHORT", 0.05)


@pytest.fixture
def hang() -> Iterator[Ask]:
    """Answers when the test is over."""
    over = threading.Event()
    yield lambda near: over.wait(60)
    over.set()


def saying(value: object, seen: list[bool] | None = None) -> Ask:
    def ask(near: bool) -> object:
        if seen is not None:
            seen.append(near)
        return value

    return ask


def failing(error: Exception) -> Ask:
    def ask(near: bool) -> object:
        raise error

    return ask


GONE = failing(Unreachable("gone"))
BUSY = failing(Passing("busy"))


def test_they_take_turns() -> None:
    three = Nodes(3)
    asks = [saying(number) for number in range(3)]
    assert sorted(three.one_after_the_other(asks) for _ in range(3)) == [0, 1, 2]
    assert sorted(three.first_to_answer(asks) for _ in range(3)) == [0, 1, 2]


@pytest.mark.parametrize("reads", [True, False])
def test_one_that_cannot_be_reached_is_passed_over_and_asked_last(reads: bool) -> None:
    three, tried = Nodes(3), list[int]()

    def gone(near: bool) -> object:
        tried.append(1)
        raise Unreachable("gone")

    def answer() -> object:
        asks = [gone, saying("a"), saying("b")]
        return three.first_to_answer(asks) if reads else three.one_after_the_other(asks)

    assert {answer() for _ in range(9)} == {"a", "b"}
    assert len(tried) == 1


def test_when_none_can_be_reached_that_is_said() -> None:
    for way in (Nodes(2).one_after_the_other, lambda asks: Nodes(2).first_to_answer(asks)):
        with pytest.raises(Unreachable):
            way([GONE, GONE])


def test_one_that_hangs_is_overtaken_and_asked_last(hang: Ask) -> None:
    three, began, seen = Nodes(3), time.monotonic(), list[bool]()
    for _ in range(6):
        assert three.first_to_answer([hang, saying("here", seen), saying("here", seen)]) == "here"
    assert time.monotonic() - began < 1
    assert len(seen) == 6
    assert all(seen[seen.index(True) :])  # from then on copies near by are asked at once


def test_one_that_passes_requests_on_to_a_hung_node_is_asked_for_its_own_copy(hang: Ask) -> None:
    """Of three nodes one hangs, one has a copy of its own, one has none; both pass requests on to the first."""
    three, began = Nodes(3), time.monotonic()
    for _ in range(6):
        assert three.first_to_answer([hang, lambda near: "own copy" if near else hang(near), hang]) == "own copy"
    assert time.monotonic() - began < 1


def test_busy_is_only_said_when_no_other_knows_better(hang: Ask) -> None:
    assert Nodes(3).first_to_answer([BUSY, saying("here"), BUSY]) == "here"
    with pytest.raises(Passing, match="busy"):
        Nodes(2).first_to_answer([BUSY, BUSY])


def test_an_error_that_waiting_does_not_change_is_said_at_once() -> None:
    with pytest.raises(EngineError, match="wrong"):
        Nodes(2).first_to_answer([failing(EngineError("wrong"))] * 2)


def test_second_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    over, asked, lock = threading.Event(), list[int](), threading.Lock()

    def slow(near: bool) -> object:
        with lock:
            asked.append(1)
        return over.wait(60)

    three, threads = Nodes(3), list[threading.Thread]()
    for _ in range(20):
        asking: Callable[[], object] = lambda: three.first_to_answer([slow] * 3)  # noqa: E731
        threads.append(threading.Thread(target=asking))
        threads[-1].start()
    time.sleep(0.5)
    with lock:
        assert len(asked) == 20 + nodes.AT_ONCE
    over.set()
    for thread in threads:
        thread.join()


def test_how_a_copy_near_by_is_asked_for() -> None:
    searches = '{"index":"a"}\n{"query":{}}\n{"index":"b"}\n{"query":{}}\n'
    body, params = server._addressed("/_msearch", searches, {}, near=True)
    assert [json.loads(line) for line in body.splitlines()[::2]] == [
        {"preference": "_local", "index": "a"},
        {"preference": "_local", "index": "b"},
    ]
    assert body.splitlines()[1::2] == ['{"query":{}}'] * 2
    assert params == {}
    assert server._addressed("/i/_search", {}, {"x": 1}, near=True) == ({}, {"x": 1, "preference": "_local"})
    assert server._addressed("/i/_doc/state", None, {}, near=True)[1] == {"preference": "_local"}
    assert server._addressed("/i/_mapping", None, {}, near=True) == (None, {})
    assert server._addressed("/_msearch", searches, {}, near=False) == (searches, {})


def test_a_node_that_knows_less_than_the_others_is_passed_over() -> None:
    stale = failing(IndexNotFound("no such alias"))
    for _ in range(3):
        assert Nodes(3).one_after_the_other([stale, saying("done"), stale]) == "done"
    with pytest.raises(IndexNotFound):
        Nodes(2).one_after_the_other([stale, stale])


class Stale:
    """A cluster of which some nodes do not know the newest alias."""

    shown, nodes = "a cluster", 3

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)

    def send(self, *_: object) -> object:
        status = self.statuses.pop(0)
        error = {} if status == 201 else {"error": {"type": "index_not_found_exception", "reason": "no such index"}}
        return {"items": [{"index": {"status": status, **error}}]}


def test_a_load_goes_on_when_a_node_knows_less_than_the_others() -> None:
    action = bulk.Action("index", "x-write-me", "1", "{}")
    limits = bulk.BulkLimits(patience=server.Patience(10, 0.01))
    (outcome,) = bulk.load(Stale(404, 404, 201), [action], limits)  # type: ignore[arg-type]
    assert outcome.ok
    with pytest.raises(IndexNotFound):
        list(bulk.load(Stale(404, 404, 404), [action], limits))  # type: ignore[arg-type]
