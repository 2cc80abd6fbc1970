"""A passage that is missing or damaged is made again from the stored text of its document, on every engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexMismatch
from sparc_search.index import Index
from sparc_search.stores.opensearch.names import key

QUESTION = "When was the Eiger climbed?"


@pytest.fixture
def opened(engine: Engine, toy_encoder: Encoder) -> Callable[[], Index]:
    def make() -> Index:
        return Index(engine.settings(), toy_encoder)

    with make() as index:
        index.add(DOCUMENTS)
    return make


def passage_of(engine: Engine, opened: Callable[[], Index]) -> str:
    with opened() as index, index.engine.view() as view:
        return next(passage.passage.id for document in view.documents(["alps"]) for passage in document.passages)


DAMAGE = {
    "no block": "DELETE FROM encoded WHERE passage = (SELECT row FROM passages WHERE id = ?)",
    "half a block": "UPDATE encoded SET block = substr(block, 1, 99) WHERE passage = "
    "(SELECT row FROM passages WHERE id = ?)",
    "other features": "UPDATE encoded SET features = x'00' WHERE passage = (SELECT row FROM passages WHERE id = ?)",
}


def spoil(engine: Engine, passage: str, how: str) -> None:
    if engine.url:
        index = engine.index_name()
        engine.request("DELETE", f"/{index}/_doc/{key(passage)}?refresh=true")
        return
    connection = sqlite3.connect(engine.folder / "index" / "data-1" / "index.db")
    connection.execute(DAMAGE[how], (passage,))
    connection.commit()
    connection.close()


@pytest.mark.parametrize("how", DAMAGE)
def test_it_is_made_again(engine: Engine, opened: Callable[[], Index], how: str) -> None:
    if engine.url and how != "no block":
        pytest.skip("a folder, whose rows can be damaged")
    if engine.name not in ("local", "opensearch", "elasticsearch"):
        pytest.skip("an engine whose passages can be damaged from here")
    with opened() as index:
        expected = answers(index)
    passage = passage_of(engine, opened)
    spoil(engine, passage, how)
    with opened() as index:
        found = index.verify(sample=0)
        assert {problem.document for problem in found.problems if problem.where == f"passage {passage}"} == {"alps"}
        repaired = index.verify(repair=True)
        assert repaired.problems == ()
        assert "document alps" in repaired.repaired
    with opened() as index:
        assert index.verify(sample=5).ok
        assert answers(index) == expected
        assert index.add(DOCUMENTS).unchanged == len(DOCUMENTS)


def test_another_model_does_not_repair(engine: Engine, opened: Callable[[], Index], toy_encoder: Any) -> None:
    if engine.name not in ("local", "opensearch"):
        pytest.skip("an engine whose passages can be damaged from here")
    spoil(engine, passage_of(engine, opened), "no block")
    toy_encoder.fingerprint = "toy-2"
    with opened() as index, pytest.raises(IndexMismatch, match=r"toy-1.*toy-2"):
        index.verify(repair=True)


def answers(index: Index) -> list[tuple[str, str, float]]:
    reply = index.ask(QUESTION)
    assert reply.degraded == ()
    return [(answer.passage.id, answer.text, answer.score) for answer in reply.answers]
