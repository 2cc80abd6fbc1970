"""Snapshots of a server, as docs/opensearch.md describes them: what is restored is the index that was saved."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engines import Engine
from servers import CustomOpenSearch
from small_corpus import DOCUMENTS, QUERY, encode_all, words

from sparc_search.encoder import Encoder
from sparc_search.errors import EngineError, IndexDamaged, UsageError
from sparc_search.opening import restore_engine
from sparc_search.records import Document


@pytest.fixture(scope="module")
def repository() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="sparc-search-snapshots-") as folder:
        os.chmod(folder, 0o777)  # the node may run as somebody else
        yield folder


@pytest.fixture
def engine(custom_opensearch: CustomOpenSearch, repository: str, tmp_path: Path) -> Iterator[Engine]:
    node = custom_opensearch({"path.repo": repository})
    engine = Engine("opensearch", tmp_path, node.url)
    body = {"type": "fs", "settings": {"location": repository}}
    assert engine.request("PUT", "/_snapshot/backups", body) == {"acknowledged": True}
    yield engine
    for snapshot in engine.request("GET", "/_snapshot/backups/_all")["snapshots"]:
        engine.request("DELETE", f"/_snapshot/backups/{snapshot['snapshot']}")
    engine.clean_up()
    engine.request("DELETE", "/_snapshot/backups")


def test_a_snapshot_brings_back_what_was_there(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.open() as store:
        store.add(encode_all([*DOCUMENTS, *words(12)], toy_encoder))
        store.delete(["d0-003"])
        right = store.sparse_search(QUERY, 5, {})
        generation = store.statistics([]).snapshot
    body = {"indices": f"{engine.index_name()}*", "include_global_state": False}
    done = engine.request("PUT", "/_snapshot/backups/one?wait_for_completion=true", body)["snapshot"]
    assert (done["state"], done["shards"]["failed"]) == ("SUCCESS", 0)
    with engine.open() as store:
        store.delete(["alps", "seas"])
    engine.clean_up()
    assert engine.indices() == []
    engine.request("POST", "/_snapshot/backups/one/_restore?wait_for_completion=true", body)
    with engine.open() as store:
        assert store.sparse_search(QUERY, 5, {}) == right
        assert store.statistics([]).snapshot == generation
        assert store.verify().problems == ()
        store.add(encode_all(words(2, seed=5), toy_encoder))
        assert store.verify().problems == ()


def test_a_backup_becomes_a_version_that_can_be_gone_back_from(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.open() as store:
        store.add(encode_all([*DOCUMENTS, *words(12)], toy_encoder))
        right = store.sparse_search(QUERY, 5, {})
        assert store.backup(Path("backups/one"))["documents"] == len(DOCUMENTS) + 12
        store.delete(["d0-005"])
        after = store.sparse_search(QUERY, 5, {})
    with engine.open(writable=False) as reader:
        assert reader.sparse_search(QUERY, 5, {}) == after != right
        with pytest.raises(UsageError, match="--replace"):
            restore_engine(engine.settings(), Path("backups/one"), replace=False)
        restore_engine(engine.settings(), Path("backups/one"), replace=True)
        assert reader.sparse_search(QUERY, 5, {}) == right
    with engine.open() as store:
        assert store.verify().problems == ()
        store.add(encode_all(words(2, seed=5), toy_encoder))
        assert store.verify().problems == ()
        store.rollback()
    with engine.open(writable=False) as store:
        assert store.sparse_search(QUERY, 5, {}) == after
    restore_engine(engine.settings("elsewhere"), Path("backups/one"), replace=False)
    with engine.open(writable=False, name="elsewhere") as store:
        assert store.sparse_search(QUERY, 5, {}) == right


def test_backups_under_a_writer_are_states_that_were_committed(engine: Engine, toy_encoder: Encoder) -> None:
    """A writer replaces all documents again and again: every backup holds one edition, whole."""
    editions = [encode_all([Document(f"d{n}", f"red {edition}") for n in range(30)], toy_encoder) for edition in (1, 2)]
    stop, wrote = threading.Event(), threading.Event()

    def write() -> None:
        with engine.open(shards=3) as store:
            for number in itertools.count():
                store.add(editions[number % 2])
                wrote.set()
                if stop.is_set():
                    return

    def backup(name: str) -> int:
        wrote.clear()
        assert wrote.wait(120)  # since the last one, and it goes on
        return int(reader.backup(Path(f"backups/{name}"))["generation"])

    with engine.open(shards=3) as store:
        store.add(editions[0])
    with ThreadPoolExecutor(1) as pool, engine.open(writable=False) as reader:
        writing = pool.submit(write)
        try:
            generations = [backup(f"b{n}") for n in range(3)]
        finally:
            stop.set()
        writing.result()
    assert generations == sorted(set(generations))
    for n, generation in enumerate(generations):
        name = f"copy{n}"
        restore_engine(engine.settings(name), Path(f"backups/b{n}"), replace=False)
        with engine.open(writable=False, name=name) as store:
            assert store.verify().problems == ()
            assert store.statistics([]).snapshot == generation
            texts = {passage.passage.text for passage in store.fetch([f"d{n}/0" for n in range(30)])}
            assert len(texts) == 1


@pytest.mark.parametrize("name", ["one", "backups/../one", "Backups/One", "backups/nothing", "nowhere/one"])
def test_what_names_no_snapshot_is_said(engine: Engine, toy_encoder: Encoder, name: str) -> None:
    with pytest.raises(UsageError, match="snapshot"):
        restore_engine(engine.settings(), Path(name), replace=False)


def test_a_repository_that_is_not_there(engine: Engine) -> None:
    with engine.open() as store, pytest.raises(EngineError, match="nowhere") as caught:
        store.backup(Path("nowhere/one"))
    assert "docs/opensearch.md#snapshots" in caught.value.remedy


def test_a_snapshot_with_a_hole_is_not_served(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.open() as store:
        store.add(encode_all(words(6), toy_encoder))
        passages = store.describe()["version"]
        hole = {"query": {"term": {"document": "d0-003"}}}
        engine.request("POST", f"/{passages}/_delete_by_query?refresh=true", hole)
        store.backup(Path("backups/hole"))
    before = engine.indices()
    with pytest.raises(IndexDamaged, match="not whole"):
        restore_engine(engine.settings(), Path("backups/hole"), replace=True)
    assert engine.indices() == before
