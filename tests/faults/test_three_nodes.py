"""A cluster that loses a node in the middle of a load: the load goes on, and no copy lacks anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines import Engine
from loads import assert_each_is_there_once, load, long_documents, meanwhile, writing

from sparc_search.encoder import Encoder
from sparc_search.servers.cluster import Cluster
from sparc_search.stored import EncodedDocument
from sparc_search.stores import phrase_block
from sparc_search.stores.opensearch.bodies import read_block


@pytest.fixture
def engine(opensearch_cluster: Cluster, tmp_path: Path) -> Iterator[Engine]:
    made = Engine("opensearch", tmp_path, opensearch_cluster.url)
    yield made
    made.clean_up()


def test_the_load_goes_on_without_the_node_that_died(
    engine: Engine, opensearch_cluster: Cluster, toy_encoder: Encoder
) -> None:
    documents = long_documents(160, toy_encoder)
    everywhere = {"url": ",".join(opensearch_cluster.urls), "features_in_source": False}
    with writing(engine, **everywhere) as store:
        load(store, documents[:40])
        wait_for_copies(engine)
        victim = holder_of_the_primary(engine, opensearch_cluster)
        with meanwhile(lambda: opensearch_cluster.kill(victim)):
            assert load(store, documents[40:]) == []
    engine.url = next(url for number, url in enumerate(opensearch_cluster.urls) if number != victim)
    assert_each_is_there_once(engine, documents)
    opensearch_cluster.restart(victim)
    wait_for_copies(engine)
    engine.request("POST", f"/{engine.prefix}-*/_refresh")
    for node in copies(engine):
        assert_the_copy_is_whole(engine, node, documents)


def wait_for_copies(engine: Engine) -> None:
    engine.request("GET", f"/_cluster/health/{engine.prefix}-*?wait_for_status=green&timeout=300s")


def shards(engine: Engine) -> list[dict[str, Any]]:
    found = engine.request("GET", f"/_cat/shards/{engine.prefix}-index?format=json&h=prirep,node,id")
    assert isinstance(found, list)
    return found


def holder_of_the_primary(engine: Engine, cluster: Cluster) -> int:
    """The number of the node that has the primary shard of the passages."""
    (name,) = (shard["node"] for shard in shards(engine) if shard["prirep"] == "p")
    return [node.name for node in cluster.nodes].index(name)


def copies(engine: Engine) -> list[str]:
    found = [shard["id"] for shard in shards(engine)]
    assert len(found) == 2
    return found


def assert_the_copy_is_whole(engine: Engine, node: str, documents: list[EncodedDocument]) -> None:
    """Every passage with all that is kept outside `_source`, read from this node's copy and no other."""
    body = {"size": 1000, "stored_fields": ["block", "vector", "facts", "features"], "docvalue_fields": ["id"]}
    found = engine.request("POST", f"/{engine.prefix}-index/_search?preference=_only_nodes:{node}", body)
    assert found["_shards"]["failed"] == 0
    fields = {hit["fields"]["id"][0]: hit["fields"] for hit in found["hits"]["hits"]}
    passages = {one.passage.id: one for document in documents for one in document.passages}
    assert fields.keys() == passages.keys()
    for id, one in passages.items():
        assert read_block(fields[id]) == phrase_block.encode(one.block)
        assert fields[id].keys() == {"id", "block", "vector", "facts", "features"}
