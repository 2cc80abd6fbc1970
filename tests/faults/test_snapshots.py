"""Snapshots of a server, as docs/opensearch.md describes them: what is restored is the index that was saved."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines import Engine
from servers import CustomOpenSearch
from small_corpus import DOCUMENTS, QUERY, encode_all, words

from sparc_search.encoder import Encoder


@pytest.fixture
def engine(custom_opensearch: CustomOpenSearch, tmp_path: Path) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="sparc-search-snapshots-") as repository:
        os.chmod(repository, 0o777)  # the node may run as somebody else
        node = custom_opensearch({"path.repo": repository})
        engine = Engine("opensearch", tmp_path, node.url)
        body = {"type": "fs", "settings": {"location": repository}}
        assert engine.request("PUT", "/_snapshot/backups", body) == {"acknowledged": True}
        yield engine
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
