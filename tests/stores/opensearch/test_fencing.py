"""What a writer has sent may arrive when there is another writer: then it changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexLocked, IndexNotFound
from sparc_search.stores.opensearch import fencing, lease
from sparc_search.stores.opensearch.failures import Refused
from sparc_search.stores.opensearch.names import Version

CHANGES = [plain("alps", "Only lakes."), plain("new", "A zebra.\n\nAnother zebra.")]
Request = tuple[Any, ...]


class Crash(BaseException):
    """The process is gone."""


def writes(request: Request) -> bool:
    """Whether this changes the index, and not the lease."""
    method, path = request[0], request[1]
    return method in ("POST", "PUT") and (path == "/_bulk" or "-write-" in path)


def on_its_way(store: Any, change: Callable[[], object], number: int, monkeypatch: pytest.MonkeyPatch) -> Request:
    """The request of this number by which a change writes; the writer is killed when it has been sent."""
    send, sent = store.server.send, []

    def kept(*request: Any) -> Any:
        if not writes(request):
            return send(*request)
        sent.append(request)
        if len(sent) == number:
            raise Crash
        return send(*request)

    with monkeypatch.context() as patched:
        patched.setattr(store.server, "send", kept)
        with pytest.raises(Crash):
            change()
    lease._living.discard(store.engine.lease.owner)  # as if it had been another process
    return tuple(sent[-1])


def arrive(store: Any, request: Request) -> None:
    """The server gets it after all, and takes nothing of it."""
    try:
        answer = store.server.send(*request)
    except IndexNotFound:
        return
    assert {next(iter(item.values()))["status"] for item in answer["items"]} == {404}, request


def held(store: Any) -> object:
    """What is in an index, and what it counts."""
    with store.view() as view:
        known = view.content_hashes(["alps", "seas", "new", "other"])
        return view.state, view.matching({}).passage_ids, known, view.frequencies()


@pytest.mark.parametrize("number", range(1, 7))  # a mark, passages, records, what is gone, statistics, the state
def test_a_late_addition(
    opensearch: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with opensearch.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    killed = opensearch.open()
    late = on_its_way(killed, lambda: killed.add(encode_all(CHANGES, toy_encoder)), number, monkeypatch)
    with opensearch.open() as store:
        store.add(encode_all([plain("other", "A lion.")], toy_encoder))
        before = held(store)
        arrive(store, late)
        store.server.request("POST", f"/{opensearch.index_name()}*/_refresh")
        assert held(store) == before
        assert store.verify().problems == ()
    with opensearch.open() as store:
        assert store.verify().problems == ()
        store.add(encode_all(CHANGES, toy_encoder))
        assert store.matching({}) == ["alps/0", "new/0", "new/1", "other/0", "seas/0"]
        assert store.verify().problems == ()


def test_a_late_deletion(opensearch: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    with opensearch.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    killed = opensearch.open()
    late = on_its_way(killed, lambda: killed.delete(["alps"]), 2, monkeypatch)
    with opensearch.open() as store:
        arrive(store, late)
        assert store.matching({}) == ["alps/0", "alps/1", "seas/0"]
        assert store.verify().problems == ()


def test_whoever_has_lost_the_lease_hears_of_that(opensearch: Engine, toy_encoder: Encoder) -> None:
    stopped = opensearch.open()
    lease._living.discard(stopped.engine.lease.owner)
    with opensearch.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        with pytest.raises(IndexLocked, match="another process has taken it"):
            stopped.add(encode_all(CHANGES, toy_encoder))
        assert store.matching({}) == ["alps/0", "alps/1", "seas/0"]
        assert store.verify().problems == ()


class Busy:
    """A server at which a write is under way for some time; or which tells nobody."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def request(self, *_: Any, **__: Any) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"nodes": {"n": {"tasks": {"n:1": {"description": answer}, "n:2": {}}}}}


def test_what_has_passed_the_door_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fencing, "_POLL", 0.0)
    server = Busy(
        "requests[2], indices[x-1]", "requests[1], index[x-1-documents][0]", "indices[y-1]", "not asked any more"
    )
    fencing.wait_for_writes(server, Version("x-1"))  # type: ignore[arg-type]
    assert server.answers == ["not asked any more"]
    fencing.wait_for_writes(Busy(Refused("no", status=403)), Version("x-1"))  # type: ignore[arg-type]


def test_a_server_says_which_writes_are_under_way(opensearch: Engine) -> None:
    with opensearch.open() as store:
        assert fencing._writes(store.server) == []
