"""A shard without a copy is lost with its node: every question hears of it, and nothing with a hole is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines import Engine
from small_corpus import encode_all, words
from starlette.testclient import TestClient

from sparc_search.encoder import Encoder
from sparc_search.errors import Incomplete
from sparc_search.index import Index
from sparc_search.opening import derived_vectors
from sparc_search.records import Reply
from sparc_search.servers.cluster import Cluster
from sparc_search.web.app import create_app

QUESTIONS = [
    f"Which {colour} {what}?"
    for colour in ("red", "green", "blue", "1901")
    for what in ("sea", "lake", "North", "1902")
]


@pytest.fixture
def engine(opensearch_cluster: Cluster, tmp_path: Path) -> Iterator[Engine]:
    made = Engine("opensearch", tmp_path, opensearch_cluster.url)
    yield made
    made.clean_up()


class Machine:
    """A machine that asks: it has a folder of its own, so it derives vectors of its own."""

    def __init__(self, engine: Engine, cluster: Cluster, encoder: Encoder, name: str) -> None:
        self._engine, self._encoder = engine, encoder
        self.settings = {"url": ",".join(cluster.urls), "index": engine.folder / name / "index"}

    def open(self, **more: Any) -> Index:
        return Index.open(settings=self._engine.settings(**self.settings, **more), encoder=self._encoder)

    def ask(self, strategy: Any) -> list[Reply]:
        with self.open() as index:
            return list(index.ask_many(QUESTIONS, strategy=strategy))

    def vectors(self) -> list[Path]:
        return sorted(self.settings["index"].parent.glob("index.vectors/*/*/manifest.json"))

    def problems(self) -> list[Any]:
        settings = self._engine.settings(**self.settings)
        with self.open() as index:
            return derived_vectors(settings, index.engine).verify()


def test_a_lost_shard(engine: Engine, opensearch_cluster: Cluster, toy_encoder: Encoder, run_cli: Any) -> None:
    with engine.open(shards=3) as store:
        store.add(encode_all(words(80), toy_encoder))
    without_copies(engine)
    old, new = (Machine(engine, opensearch_cluster, toy_encoder, name) for name in ("old", "new"))
    whole = {strategy: old.ask(strategy) for strategy in ("sparse", "dense")}
    assert not any(reply.degraded for replies in whole.values() for reply in replies)
    victim = holder_of_a_shard(engine, opensearch_cluster)
    opensearch_cluster.kill(victim)
    try:
        engine.url = next(url for number, url in enumerate(opensearch_cluster.urls) if number != victim)
        wait_until_it_is_noticed(engine)
        every_question_hears_of_it(old, engine, run_cli)
        nothing_with_a_hole_is_kept(new)
    finally:
        opensearch_cluster.restart(victim)
        engine.url = opensearch_cluster.url
    engine.request("GET", f"/_cluster/health/{engine.prefix}-*?wait_for_status=green&timeout=300s")
    for machine in (old, new):
        again = machine.ask("dense")
        assert not any(reply.degraded for reply in again)
        assert [answers(reply) for reply in again] == [answers(reply) for reply in whole["dense"]]
        assert machine.vectors()
        assert machine.problems() == []


def every_question_hears_of_it(machine: Machine, engine: Engine, run_cli: Any) -> None:
    for strategy in ("sparse", "hybrid", "dense"):
        replies = machine.ask(strategy)
        assert len(replies) == len(QUESTIONS) == 16
        flagged = [reply for reply in replies if reply.degraded]
        assert len(flagged) == 16 or strategy == "dense"  # whose candidates may all be on shards that are there
        assert all(len(reply.degraded) == len(set(reply.degraded)) for reply in replies)
    with machine.open() as index:
        client = TestClient(create_app(index), base_url="http://127.0.0.1:8000")
        asked = client.post("/api/ask", json={"questions": QUESTIONS, "strategy": "sparse"}).json()
        assert ["shards" in reply["degraded"][0] for reply in asked["replies"]] == [True] * 16
    path = engine.folder / "questions.txt"
    path.write_text("\n".join(QUESTIONS))
    environment = {**engine.environment(), **{f"SPARC_SEARCH_{k.upper()}": str(v) for k, v in machine.settings.items()}}
    environment["SPARC_SEARCH_ENCODER"] = "toy"
    command = ("ask", "--file", path, "--jsonl", "--strategy", "sparse")
    told = run_cli(*command, env=environment)
    assert told.returncode == 3, told.stderr
    assert [bool(json.loads(line)["degraded"]) for line in told.stdout.splitlines()] == [True] * 16
    refused = run_cli(*command, env={**environment, "SPARC_SEARCH_PARTIAL": "refuse"})
    assert refused.returncode == 1
    assert "answers would be missing" in refused.stderr


def nothing_with_a_hole_is_kept(machine: Machine) -> None:
    assert all("vectors" in reply.degraded[0] for reply in machine.ask("dense"))
    assert machine.vectors() == []
    with machine.open() as index:
        with pytest.raises(Incomplete):
            index.engine.admin().verify()
        with index.engine.view() as view, pytest.raises(Incomplete):
            list(view.documents())
    with machine.open(partial="refuse") as index, pytest.raises(Incomplete):
        index.ask(QUESTIONS[0])


def answers(reply: Reply) -> list[tuple[str, str, float]]:
    return [(answer.passage.id, answer.text, answer.score) for answer in reply.answers]


def without_copies(engine: Engine) -> None:
    (name,) = engine.request("GET", f"/_alias/{engine.prefix}-index")
    engine.request("PUT", f"/{name}/_settings", {"index": {"auto_expand_replicas": False, "number_of_replicas": 0}})
    engine.request("GET", f"/_cluster/health/{engine.prefix}-*?wait_for_status=green&timeout=300s")


def holder_of_a_shard(engine: Engine, cluster: Cluster) -> int:
    """The number of a node that has one shard of three, and is not the only one that can be asked."""
    shards = engine.request("GET", f"/_cat/shards/{engine.prefix}-index?format=json&h=shard,node")
    name = next(shard["node"] for shard in shards if shard["shard"] == "0")
    return [node.name for node in cluster.nodes].index(name)


def wait_until_it_is_noticed(engine: Engine) -> None:
    engine.request("GET", "/_cluster/health?wait_for_nodes=2&timeout=300s")
