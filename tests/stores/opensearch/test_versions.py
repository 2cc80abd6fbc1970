"""Versions on a real server: rebuilt beside, swapped in one step, gone back to; and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexDamaged, IndexFailure, IndexMismatch, IndexNotFound
from sparc_search.stores.opensearch.names import key

ANYWHERE = np.ones((1, 4), np.float32)


@pytest.fixture
def store(opensearch: Engine, toy_encoder: Encoder) -> Iterator[Any]:
    with opensearch.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


def near(store: Any) -> set[str]:
    return {hit.passage_id for hit in store.dense_search(ANYWHERE, 10, {})[0]}


def test_one_alias_moves_and_the_version_before_is_kept(opensearch: Engine, store: Any, toy_encoder: Encoder) -> None:
    name = opensearch.index_name()
    first = store.describe()["version"]
    store.close()
    with opensearch.open(writable=False) as reader:
        assert near(reader) == {"alps/0", "alps/1", "seas/0"}
        with opensearch.rebuild() as new:
            new.add(encode_all([plain("other", "Something else.")], toy_encoder))
            assert near(reader) == {"alps/0", "alps/1", "seas/0"}
        assert near(reader) == {"other/0"}  # the same reader follows the alias
        assert reader.describe()["version before"] == first
        assert len(opensearch.request("GET", f"/_alias/{name}")) == 1
    with opensearch.open() as store:
        assert store.rollback() == first
        assert near(store) == {"alps/0", "alps/1", "seas/0"}
    with opensearch.open() as store:
        assert store.rollback() != first
        assert near(store) == {"other/0"}


def test_older_versions_go(opensearch: Engine, store: Any, toy_encoder: Encoder) -> None:
    store.close()
    for number in range(3):
        with opensearch.rebuild() as new:
            new.add(encode_all([plain(f"n{number}", "Words.")], toy_encoder))
    assert len(opensearch.indices()) == 5  # two versions of two indices, and the lease


def test_there_is_nothing_to_go_back_to(store: Any) -> None:
    with pytest.raises(IndexFailure, match="no version before"):
        store.rollback()


def test_what_has_not_changed_is_taken_over(opensearch: Engine, store: Any, toy_encoder: Encoder) -> None:
    store.close()
    with opensearch.rebuild() as new:
        assert new.content_hashes(["alps", "nobody"]) == {"alps": f"hash of {DOCUMENTS[0].text}"}
        new.add(encode_all([plain("new", "More.")], toy_encoder))
    with opensearch.open(writable=False) as reader:
        assert {id for id, _ in reader.documents_from("")} == {"alps", "new"}
        assert near(reader) == {"alps/0", "alps/1", "new/0"}
        assert reader.verify().problems == ()


def test_a_version_that_is_not_whole_is_not_served(opensearch: Engine, store: Any, toy_encoder: Encoder) -> None:
    store.close()

    def spoiled() -> None:
        with opensearch.rebuild("toy-2") as new:
            new.add(encode_all(DOCUMENTS, toy_encoder))
            index = new.state.passages_index
            opensearch.request("DELETE", f"/{index}/_doc/{key('alps/0')}?refresh=true")

    with pytest.raises(IndexFailure, match="alps/0: is missing from document alps"):
        spoiled()
    with opensearch.open("toy-1", writable=False) as reader:
        assert reader.encoder == "toy-1"
        assert reader.statistics([]).passages == 3


# --- what is refused -------------------------------------------------------------------------------------------------


def meta(engine: Engine, store: Any, **change: Any) -> None:
    for index in store.state.version.indices:
        mapping = engine.request("GET", f"/{index}/_mapping")[index]["mappings"]
        found = {**mapping["_meta"]["sparc-search"], **change}
        engine.request("PUT", f"/{index}/_mapping", {"_meta": {"sparc-search": found}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "upgrade"),
        ({"format": 0}, "--rebuild"),
        ({"encoder": "toy-9"}, r"toy-9.*index upgrade"),
        ({"complete": False}, "never finished"),
    ],
)
def test_a_version_that_does_not_fit(opensearch: Engine, store: Any, change: dict[str, Any], message: str) -> None:
    meta(opensearch, store, **change)
    store.close()
    for writable in (False, True):
        with pytest.raises(IndexMismatch, match=message):
            opensearch.open(writable=writable)


def test_a_version_of_0_1_0_is_read_and_written_to(opensearch: Engine, store: Any, toy_encoder: Encoder) -> None:
    """Only its blocks differ: see `test_golden`."""
    meta(opensearch, store, format=1)
    store.close()
    with opensearch.open() as store:
        store.add(encode_all([plain("other", "Something else.")], toy_encoder))
        assert near(store) == {"alps/0", "alps/1", "seas/0", "other/0"}


def test_another_format_is_made_anew(opensearch: Engine, store: Any, toy_encoder: Encoder) -> None:
    meta(opensearch, store, format=0)
    store.close()
    with opensearch.rebuild() as new:
        assert new.content_hashes(["alps"]) == {}
        new.add(encode_all(DOCUMENTS, toy_encoder))
    with opensearch.open(writable=False) as reader:
        assert reader.statistics([]).passages == 3


def test_an_index_of_somebody_else_is_left_alone(opensearch: Engine) -> None:
    name = opensearch.index_name()
    opensearch.request("PUT", f"/{name}", {})
    for writable in (False, True):
        with pytest.raises((IndexMismatch, IndexNotFound)):
            opensearch.open(writable=writable)
    assert name in opensearch.indices()


def test_an_alias_of_several(opensearch: Engine, store: Any) -> None:
    name = opensearch.index_name()
    opensearch.request("PUT", f"/{name}-stray", {"aliases": {name: {}}})
    store.close()
    with pytest.raises(IndexDamaged, match="several"):
        opensearch.open()


def test_a_document_that_the_server_refuses_is_named_and_the_others_are_there(
    opensearch: Engine, store: Any, toy_encoder: Encoder
) -> None:
    good, bad, odd = encode_all([plain("good", "Fine."), plain("bad", "Wrong."), plain("seas", "New.")], toy_encoder)
    poison: Any = replace(bad.passages[0].passage, number="not a number")
    bad = replace(bad, passages=(replace(bad.passages[0], passage=poison),))
    (refusal,) = store.add_what_fits([good, bad, odd])
    assert refusal.document_id == "bad"
    assert "mapper_parsing_exception" in refusal.reason
    assert store.content_hashes(["good", "bad", "seas"]).keys() == {"good", "seas"}
    assert store.verify().problems == ()
    assert [refusal.document_id for refusal in store.add_what_fits([bad])] == ["bad"]
    assert store.verify().problems == ()
