"""Indexes that may not be written to, and documents that no server takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from engines import Engine
from loads import assert_each_is_there_once, load, long_documents, writing

from sparc_search.encoder import Encoder
from sparc_search.errors import EngineError
from sparc_search.records import EncodedPassage
from sparc_search.stored import EncodedDocument
from sparc_search.stores.opensearch.bulk import BulkLimits


def test_a_write_block_stops_the_load_and_nothing_is_lost(server_engine: Engine, toy_encoder: Encoder) -> None:
    documents = long_documents(80, toy_encoder)
    with writing(server_engine) as store:
        assert load(store, documents[:40]) == []
        block(server_engine, True)
        with pytest.raises(EngineError, match="lets nobody write"):
            load(store, documents)
        block(server_engine, None)
        assert load(store, documents) == []
    assert_each_is_there_once(server_engine, documents)


def block(engine: Engine, on: bool | None) -> None:
    engine.request("PUT", f"/{engine.prefix}-index/_settings", {"index.blocks.write": on})


Change = Callable[[EncodedPassage], EncodedPassage]


def too_large_a_page(one: EncodedPassage) -> EncodedPassage:
    return replace(one, passage=replace(one.passage, page=1 << 40))


def too_large_a_number(one: EncodedPassage) -> EncodedPassage:
    return replace(one, passage=replace(one.passage, number=1 << 40))


def too_long_a_name(one: EncodedPassage) -> EncodedPassage:
    return replace(one, features={**one.features, "lex": {"x" * 40_000: 1.0}})


def a_negative_weight(one: EncodedPassage) -> EncodedPassage:
    return replace(one, features={**one.features, "start": {"less": -1.0}})


def poisoned(one: EncodedDocument, change: Change) -> EncodedDocument:
    """The document with something in its last passage that is not taken."""
    *others, last = one.passages
    return replace(one, passages=(*others, change(last)))


# All but the last are found out by the server alone.
POISON = {3: too_large_a_page, 17: too_large_a_number, 18: too_long_a_name, 41: a_negative_weight}


@pytest.mark.parametrize("limits", [BulkLimits(), BulkLimits(actions=7, in_flight=2)])
def test_poison_among_good_documents(server_engine: Engine, toy_encoder: Encoder, limits: BulkLimits) -> None:
    documents = long_documents(60, toy_encoder)
    mixed = [poisoned(one, POISON[n]) if n in POISON else one for n, one in enumerate(documents)]
    with writing(server_engine, limits) as store:
        refusals = load(store, mixed)
    assert {refusal.document_id for refusal in refusals} == {documents[n].document.id for n in POISON}
    assert sum("the server does not take it" in refusal.reason for refusal in refusals) == len(POISON) - 1
    assert_each_is_there_once(server_engine, [one for n, one in enumerate(documents) if n not in POISON])
    with writing(server_engine, limits) as store:  # corrected, they are taken
        assert load(store, [documents[n] for n in POISON]) == []
    assert_each_is_there_once(server_engine, documents)


def test_poison_in_place_of_what_was_good(server_engine: Engine, toy_encoder: Encoder) -> None:
    documents = long_documents(20, toy_encoder)
    with writing(server_engine) as store:
        load(store, documents)
        (refusal,) = load(store, [poisoned(replace(documents[5], content_hash="new"), too_large_a_page)])
        assert refusal.document_id == documents[5].document.id
        assert load(store, documents) == []
    assert_each_is_there_once(server_engine, documents)
