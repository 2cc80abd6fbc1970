"""A cluster of three with a node that is dead, or hangs: it can be opened and asked all the while."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.servers.cluster import Cluster
from sparc_search.settings import Settings

QUESTION = "When was the Eiger climbed?"
PROMPT = 8.0
"""Seconds in which a question must be answered, on a machine with much else to do; a hung node used to take 26."""


@pytest.fixture
def settings(opensearch_cluster: Cluster, tmp_path: Path, toy_encoder: Encoder) -> Iterator[Settings]:
    engine = Engine("opensearch", tmp_path, opensearch_cluster.url)
    with engine.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    engine.request("GET", f"/_cluster/health/{engine.prefix}-*?wait_for_status=green&timeout=300s")
    yield engine.settings(url=",".join(opensearch_cluster.urls))
    engine.clean_up()


def answered(settings: Settings, encoder: Encoder) -> str:
    with Index.open(settings=settings, encoder=encoder) as index:
        reply = index.ask(QUESTION)
    assert reply.best is not None
    assert reply.degraded == ()
    return reply.best.text


def test_a_dead_node_makes_no_opening_fail(
    opensearch_cluster: Cluster, settings: Settings, toy_encoder: Encoder
) -> None:
    opensearch_cluster.kill(1)
    try:
        opensearch_cluster.wait(nodes=2, seen_by=0)
        assert [answered(settings, toy_encoder) for _ in range(9)] == ["1858"] * 9
    finally:
        opensearch_cluster.restart(1)


@pytest.mark.parametrize("number", range(3))
def test_a_hung_node_is_overtaken(
    opensearch_cluster: Cluster, settings: Settings, toy_encoder: Encoder, number: int
) -> None:
    with Index.open(settings=settings, encoder=toy_encoder) as index:
        index.ask(QUESTION)
        with stopped(opensearch_cluster, number):
            for _ in range(6):
                began = time.monotonic()
                reply = index.ask(QUESTION)
                assert time.monotonic() - began < PROMPT
                assert reply.best is not None
                assert reply.best.text == "1858"


@contextmanager
def stopped(cluster: Cluster, number: int) -> Iterator[None]:
    """A node that does nothing for a while, and then goes on."""
    process = cluster.processes[cluster.nodes[number].name]
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)
        cluster.wait(seen_by=number)
