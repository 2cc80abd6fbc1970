"""One node with little room, that runs out of disk, and that dies: in the end each document is there exactly once."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engines import Engine
from loads import assert_each_is_there_once, load, long_documents, meanwhile, writing
from servers import LITTLE_ROOM, CustomOpenSearch

from sparc_search.encoder import Encoder
from sparc_search.errors import DiskFull, EngineError
from sparc_search.servers.cluster import Cluster
from sparc_search.stored import EncodedDocument
from sparc_search.stores.opensearch.bulk import BulkLimits

KB = 1 << 10


@pytest.fixture
def node(custom_opensearch: CustomOpenSearch) -> Cluster:
    return custom_opensearch(LITTLE_ROOM)


@pytest.fixture
def engine(node: Cluster, tmp_path: Path) -> Iterator[Engine]:
    made = Engine("opensearch", tmp_path, node.url)
    allow_new_indices(made)
    yield made
    made.clean_up()


def statistics(engine: Engine, *path: str) -> int:
    """One number of the node's statistics."""
    found = engine.request("GET", "/_nodes/stats")["nodes"]
    (value,) = found.values()
    for key in path:
        value = value[key]
    return int(value)


def test_indexing_pressure(engine: Engine, toy_encoder: Encoder) -> None:
    where = ("indexing_pressure", "memory", "total", "coordinating_rejections")
    before = statistics(engine, *where)
    documents = long_documents(80, toy_encoder)
    with writing(engine, BulkLimits(size=250 * KB)) as store:
        assert load(store, documents) == []
    assert statistics(engine, *where) > before  # the node did turn requests away
    assert_each_is_there_once(engine, documents)


def test_a_full_write_queue(engine: Engine, toy_encoder: Encoder) -> None:
    """Each request goes to eight shards, and the node has room for two pieces of work."""
    before = statistics(engine, "thread_pool", "write", "rejected")
    documents = long_documents(80, toy_encoder)
    with writing(engine, BulkLimits(size=100 * KB), shards=8) as store:
        assert load(store, documents) == []
    assert statistics(engine, "thread_pool", "write", "rejected") > before
    assert_each_is_there_once(engine, documents)


def test_bodies_that_are_too_large(engine: Engine, toy_encoder: Encoder) -> None:
    """Batches are halved until they fit; a document that never fits is refused, alone."""
    with pytest.raises(urllib.error.HTTPError, match="413"):
        engine.request("POST", "/_bulk", "x" * 400 * KB)
    documents = long_documents(40, toy_encoder)
    giant = with_long_text(long_documents(1, toy_encoder, seed=9)[0])
    with writing(engine, BulkLimits(size=8 * KB * KB)) as store:
        (refusal,) = load(store, [*documents[:20], giant, *documents[20:]])
    assert refusal.document_id == giant.document.id
    assert "larger than the server takes" in refusal.reason
    assert_each_is_there_once(engine, documents)


def with_long_text(one: EncodedDocument) -> EncodedDocument:
    first, *others = one.passages
    return replace(one, passages=(replace(first, passage=replace(first.passage, text="long " * 80 * KB)), *others))


def test_the_flood_stage_stops_the_load_and_nothing_is_lost(engine: Engine, toy_encoder: Encoder) -> None:
    documents = long_documents(80, toy_encoder)
    marks = "cluster.routing.allocation.disk.watermark."
    with writing(engine) as store:
        assert load(store, documents[:40]) == []
        set_cluster(engine, {f"{marks}{name}": "900pb" for name in ("low", "high", "flood_stage")})
        try:
            wait_for_block(engine, present=True)
            with pytest.raises(DiskFull, match="almost full"):
                load(store, documents)
        finally:
            set_cluster(engine, {f"{marks}{name}": None for name in ("low", "high", "flood_stage")})
            wait_for_block(engine, present=False)
    with writing(engine) as store:
        assert load(store, documents) == []
    assert_each_is_there_once(engine, documents)


def test_a_server_that_forbids_new_indices_is_a_clear_error(engine: Engine) -> None:
    set_cluster(engine, {"cluster.blocks.create_index": True})
    try:
        with pytest.raises(EngineError, match="nobody make a new index") as raised, writing(engine):
            pass
    finally:
        set_cluster(engine, {"cluster.blocks.create_index": None})
    assert "make room" in raised.value.remedy


def set_cluster(engine: Engine, settings: dict[str, Any]) -> None:
    engine.request("PUT", "/_cluster/settings", {"persistent": settings})


def allow_new_indices(engine: Engine) -> None:
    """A node that has run out of disk may forbid new indices, and, as it looks at its disk only now and then, late."""
    deadline = time.monotonic() + 300
    while engine.request("GET", "/_cluster/state/blocks")["blocks"].get("global"):
        assert time.monotonic() < deadline, "the node still forbids new indices"
        set_cluster(engine, {"cluster.blocks.create_index": None})
        time.sleep(0.5)


def wait_for_block(engine: Engine, present: bool) -> None:
    """The node looks at its disk from time to time, and then blocks its indices or lets them go."""
    deadline = time.monotonic() + 300
    while True:
        found = engine.request("GET", f"/{engine.prefix}-*/_settings?flat_settings=true")
        blocked = [index["settings"].get("index.blocks.read_only_allow_delete") == "true" for index in found.values()]
        if all(blocked) if present else not any(blocked):
            return
        assert time.monotonic() < deadline, "the node did not look at its disk"
        time.sleep(0.5)


def test_a_node_that_dies_and_comes_back(engine: Engine, node: Cluster, toy_encoder: Encoder) -> None:
    """The load waits for the node and goes on by itself."""
    documents = long_documents(120, toy_encoder)

    def power_cut() -> None:
        time.sleep(0.3)
        node.kill()
        node.restart()

    with writing(engine, BulkLimits(size=100 * KB)) as store:
        load(store, documents[:40])
        with meanwhile(power_cut):
            assert load(store, documents[40:]) == []
    assert_each_is_there_once(engine, documents)
