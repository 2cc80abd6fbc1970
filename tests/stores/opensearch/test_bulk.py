"""Bulk loading into a real server: every action has one outcome, whatever is refused or has to wait."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from engines import Engine

from sparc_search.errors import EngineError, IndexNotFound
from sparc_search.stores.opensearch import bulk
from sparc_search.stores.opensearch.access import access_of
from sparc_search.stores.opensearch.bulk import Action, BulkLimits, Throttle, load
from sparc_search.stores.opensearch.failures import Passing
from sparc_search.stores.opensearch.server import Patience, Server

LIMITS = BulkLimits(actions=10, size=1 << 20, in_flight=3, patience=Patience(20, 0.1))


class Moody(Server):
    """The real server, but some requests are turned away before they get there."""

    turned_away: tuple[int, ...] = ()
    requests = 0
    sizes: list[int]

    def send(self, method: str, path: str, body: Any = None, params: Any = None) -> Any:
        if path == "/_bulk":
            self.requests += 1
            self.sizes.append(body.count("\n"))
            if self.requests in self.turned_away:
                raise Passing("too busy")
        return super().send(method, path, body, params)


@pytest.fixture
def server(opensearch: Engine) -> Iterator[Moody]:
    settings = opensearch.settings()
    server = Moody(access_of(settings.of_plugin("stores", "opensearch")))
    server.sizes = []
    mapping = {"dynamic": "strict", "properties": {"number": {"type": "integer"}, "text": {"type": "text"}}}
    index = f"{opensearch.prefix}-bulk"
    opensearch.request("PUT", f"/{index}", {"mappings": mapping, "aliases": {f"{index}-write": {}}})
    server.index = f"{index}-write"  # type: ignore[attr-defined]
    yield server
    server.close()


def actions(server: Any, numbers: Any, **more: Any) -> Iterator[Action]:
    for number in numbers:
        body = json.dumps({"number": number, **more})
        yield Action("index", server.index, f"id-{number}", body, owner=f"owner-{number}")


def count(server: Moody) -> int:
    index = server.index.removesuffix("-write")  # type: ignore[attr-defined]
    server.request("POST", f"/{index}/_refresh")
    return int(server.request("POST", f"/{index}/_count")["count"])


def test_every_action_has_one_outcome(server: Moody) -> None:
    outcomes = list(load(server, actions(server, range(95)), LIMITS))
    assert sorted(outcome.action.id for outcome in outcomes) == sorted(f"id-{n}" for n in range(95))
    assert all(outcome.ok for outcome in outcomes)
    assert count(server) == 95
    assert max(server.sizes) == 20  # two lines for each action


def test_what_is_turned_away_is_sent_again(server: Moody) -> None:
    server.turned_away = (1, 2, 4, 5, 6)
    outcomes = list(load(server, actions(server, range(60)), LIMITS))
    assert len(outcomes) == 60
    assert all(outcome.ok for outcome in outcomes)
    assert count(server) == 60


def test_patience_ends(server: Moody) -> None:
    server.turned_away = tuple(range(1, 1000))
    with pytest.raises(Passing, match="too busy"):
        list(load(server, actions(server, range(5)), BulkLimits(patience=Patience(0.5, 0.1))))
    assert count(server) == 0


def test_single_documents_are_refused_with_a_reason(server: Moody) -> None:
    bad = [*actions(server, [100], unknown=1), *actions(server, ["none"])]
    good = list(actions(server, range(20)))
    outcomes = {o.action.id: o for o in load(server, [*good[:7], *bad, *good[7:]], LIMITS)}
    assert [id for id, outcome in outcomes.items() if not outcome.ok] == ["id-100", "id-none"]
    assert "strict_dynamic_mapping_exception" in outcomes["id-100"].reason
    assert count(server) == 20


def test_what_spoils_a_whole_request_is_found_by_halving(server: Moody) -> None:
    long = Action("index", server.index, "x" * 600, json.dumps({"number": 1}))  # type: ignore[attr-defined]
    broken = Action("index", server.index, "broken", '{"number": ')  # type: ignore[attr-defined]
    good = list(actions(server, range(16)))
    outcomes = list(load(server, [*good[:5], long, *good[5:9], broken, *good[9:]], LIMITS))
    assert len(outcomes) == 18
    assert {o.action.id for o in outcomes if not o.ok} == {"x" * 600, "broken"}
    assert count(server) == 16


def test_deleting_what_is_not_there_is_done(server: Moody) -> None:
    (outcome,) = load(server, [Action("delete", server.index, "nobody")], LIMITS)  # type: ignore[attr-defined]
    assert (outcome.status, outcome.ok) == (404, True)


def test_a_mistyped_index_is_not_made(server: Moody, opensearch: Engine) -> None:
    with pytest.raises(IndexNotFound):
        list(load(server, [Action("index", f"{opensearch.prefix}-typo", "1", "{}")], LIMITS))
    assert opensearch.indices() == [f"{opensearch.prefix}-bulk"]


def test_a_write_block_ends_it(server: Moody, opensearch: Engine) -> None:
    index = f"{opensearch.prefix}-bulk"
    opensearch.request("PUT", f"/{index}/_settings", {"index.blocks.write": True})
    with pytest.raises(EngineError, match="lets nobody write"):
        list(load(server, actions(server, range(3)), LIMITS))
    opensearch.request("PUT", f"/{index}/_settings", {"index.blocks.write": None})


def test_batches_get_smaller_when_the_server_complains_and_slowly_larger(server: Moody) -> None:
    throttle = Throttle(1 << 20)
    for _ in range(3):
        throttle.slower()
    assert throttle.size == 1 << 17
    throttle.faster()
    assert 1 << 17 < throttle.size < 1 << 18
    for _ in range(100):
        throttle.slower()
    assert throttle.size == bulk._LEAST_BYTES
    for _ in range(100):
        throttle.faster()
    assert throttle.size == 1 << 20


def test_actions_are_taken_only_as_fast_as_they_are_sent(server: Moody) -> None:
    taken = 0

    def counted() -> Iterator[Action]:
        nonlocal taken
        for action in actions(server, range(1000)):
            taken += 1
            yield action

    outcomes = load(server, counted(), LIMITS)
    next(outcomes)
    assert taken <= 10 * (LIMITS.in_flight + 1)
    outcomes.close()  # type: ignore[attr-defined]
    assert count(server) <= 10 * (LIMITS.in_flight + 1)
