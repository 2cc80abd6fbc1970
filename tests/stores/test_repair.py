"""A passage that is missing or damaged is made again from the stored text of its document, on every engine."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexMismatch
from sparc_search.index import Index
from sparc_search.stores.opensearch.names import key

_ROW = "passage = (SELECT row FROM passages WHERE id = ?)"
DAMAGE = {
    "no block": f"DELETE FROM encoded WHERE {_ROW}",
    "half a block": f"UPDATE encoded SET block = substr(block, 1, 99) WHERE {_ROW}",
    "no features": f"UPDATE encoded SET features = x'00' WHERE {_ROW}",
}


def filled(engine: Engine, encoder: Encoder) -> str:
    """Fill an index; the id of a passage in it."""
    with Index(engine.settings(), encoder) as index:
        index.add(DOCUMENTS)
        return next(passage.id for passage in index.passages("alps"))


def spoil(engine: Engine, passage: str, how: str = "no block") -> None:
    """Behind the engine's back."""
    if engine.url:
        engine.request("DELETE", f"/{engine.index_name()}/_doc/{key(passage)}?refresh=true")
        return
    connection = sqlite3.connect(engine.folder / "index" / "data-1" / "index.db")
    connection.execute(DAMAGE[how], (passage,))
    connection.commit()
    connection.close()


def answers(index: Index) -> list[tuple[str, str, float]]:
    reply = index.ask("When was the Eiger climbed?")
    assert reply.degraded == ()
    return [(answer.passage.id, answer.text, answer.score) for answer in reply.answers]


def is_made_again(engine: Engine, encoder: Encoder, how: str = "no block") -> None:
    passage = filled(engine, encoder)
    with Index(engine.settings(), encoder) as index:
        expected = answers(index)
    spoil(engine, passage, how)
    with Index(engine.settings(), encoder) as index:
        found = index.verify(sample=0)
        assert {problem.document for problem in found.problems if problem.where == f"passage {passage}"} == {"alps"}
        repaired = index.verify(repair=True)
        assert repaired.problems == ()
        assert "document alps" in repaired.repaired
    with Index(engine.settings(), encoder) as index:
        assert index.verify(sample=5).ok
        assert answers(index) == expected
        assert index.add(DOCUMENTS).unchanged == len(DOCUMENTS)


def test_a_missing_passage(engine: Engine, toy_encoder: Encoder) -> None:
    is_made_again(engine, toy_encoder)


@pytest.mark.parametrize("how", list(DAMAGE)[1:])
def test_a_damaged_passage_in_a_folder(tmp_path: Path, toy_encoder: Encoder, how: str) -> None:
    is_made_again(Engine("local", tmp_path), toy_encoder, how)


def test_another_model_does_not_repair(engine: Engine, toy_encoder: Any) -> None:
    spoil(engine, filled(engine, toy_encoder))
    toy_encoder.fingerprint = "toy-2"
    with Index(engine.settings(), toy_encoder) as index, pytest.raises(IndexMismatch, match=r"toy-1.*toy-2"):
        index.verify(repair=True)
