"""One writer at a time, on a real server."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexLocked
from sparc_search.stores.opensearch import lease as leases
from sparc_search.stores.opensearch import pause
from sparc_search.stores.opensearch.access import access_of
from sparc_search.stores.opensearch.lease import Holder, Lease
from sparc_search.stores.opensearch.lifecycle import ensure_control
from sparc_search.stores.opensearch.names import names_of
from sparc_search.stores.opensearch.server import Server


@pytest.fixture
def server(opensearch: Engine) -> Iterator[Server]:
    settings = opensearch.settings()
    server = Server(access_of(settings.of_plugin("stores", "opensearch")))
    ensure_control(server, names_of(settings.plugin_values["index_name"]))
    yield server
    server.close()


@pytest.fixture
def control(opensearch: Engine) -> str:
    return opensearch.index_name() + "-control"


def holder(server: Server, control: str) -> Holder:
    return Holder(**server.request("GET", f"/{control}/_doc/lease")["_source"]["body"])


def put(server: Server, control: str, holder: Holder) -> None:
    server.request("PUT", f"/{control}/_doc/lease", {"kind": "lease", "body": asdict(holder)})


def test_the_second_is_told_who_the_first_is(server: Server, control: str) -> None:
    first = Lease(server, control)
    with pytest.raises(IndexLocked, match=r"another process is writing.*process \d+ on "):
        Lease(server, control)
    first.release()
    first.release()
    Lease(server, control).release()


def test_of_many_only_one_wins(server: Server, control: str) -> None:
    together = threading.Barrier(6)

    def take(_: int) -> Lease | None:
        together.wait()
        try:
            return Lease(server, control)
        except IndexLocked:
            return None

    with ThreadPoolExecutor(6) as pool:
        won = [lease for lease in pool.map(take, range(6)) if lease]
    assert len(won) == 1
    won[0].release()


def test_a_process_that_is_gone_is_followed_at_once(server: Server, control: str) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    first = Lease(server, control)
    mine = holder(server, control)
    first.release()
    put(server, control, replace(mine, process=gone.pid, until=time.time() + 1000))
    Lease(server, control).release()


def test_one_on_another_machine_only_when_its_lease_has_run_out(server: Server, control: str) -> None:
    now = time.time()
    far = Holder("x", "elsewhere", 1, now, now + 1000)
    put(server, control, far)
    with pytest.raises(IndexLocked, match="elsewhere"):
        Lease(server, control)
    put(server, control, replace(far, until=now + 3))  # not renewed for long: it is waited for
    Lease(server, control).release()
    assert time.time() > now + 3


def test_it_is_renewed(server: Server, control: str) -> None:
    lease = Lease(server, control, seconds=3.0)
    first = holder(server, control).until
    deadline = time.time() + 60
    while holder(server, control).until == first and time.time() < deadline:
        time.sleep(0.2)
    assert holder(server, control).until > first
    lease.release()
    assert holder(server, control).until == 0


def test_whoever_lost_it_writes_no_more(opensearch: Engine, toy_encoder: Encoder) -> None:
    store: Any = opensearch.open()
    store.add(encode_all(DOCUMENTS[:1], toy_encoder))
    control = opensearch.index_name() + "-control"
    now = time.time()
    put(store.server, control, Holder("thief", "elsewhere", 1, now, now + 1000))
    deadline = time.time() + 60
    while not store._lease._lost and time.time() < deadline:
        time.sleep(0.1)
    with pytest.raises(IndexLocked, match="was lost"):
        store.add(encode_all(DOCUMENTS[1:], toy_encoder))
    assert store.statistics([]).passages == 2
    store.close()
    assert holder_of(opensearch, control).owner == "thief"


def holder_of(engine: Engine, control: str) -> Holder:
    return Holder(**engine.request("GET", f"/{control}/_doc/lease")["_source"]["body"])


def test_who_copies_the_index_waits_for_the_writer_and_the_writer_for_him(server: Server, control: str) -> None:
    lease = Lease(server, control, seconds=0.6)
    with pause.quiet(
        server, control, lambda: leases.holder_of(server, control)
    ) as go_on:  # the writer has nothing to do
        with pytest.raises(IndexLocked, match="somebody else copies"), pause.quiet(server, control, lambda: ""):
            pass
        changing = threading.Thread(target=lease.pause)
        changing.start()
        go_on()
        assert changing.is_alive()
    changing.join()
    lease.release()
    with pause.quiet(server, control, lambda: leases.holder_of(server, control)):
        pass


def test_a_pause_that_nobody_renews_runs_out(server: Server, control: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "SECONDS", 0.0)
    lease = Lease(server, control)
    with pause.quiet(server, control, lambda: ""):
        lease.pause()
    lease.release()
