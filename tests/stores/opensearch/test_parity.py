"""The same documents in every engine, encoded once: the same candidates, answers and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engines import Engine
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.records import STRATEGIES, Document, Reply
from sparc_search.search import lexical
from sparc_search.search.sparse_first import sparse_query
from sparc_search.stored import EncodedDocument

CORPUS = Path(__file__).parents[3] / "examples" / "corpus"
QUESTIONS = [
    "When was the western top of Elbrus first climbed?",
    "Who led the expedition to the South Pole?",
    "How many people live on the island?",
    "Which sea is the largest?",
    "What is the bridge made of?",
    "the of and in to",
    "Quokka zebra",
]
FEW = {"sparse_candidates": 7, "dense_candidates": 5}
"""So few that the cut decides who is scored."""


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """The sample corpus, and twins of some documents: they tie with the first."""
    files = sorted(CORPUS.rglob("*.md"))[::4][:16]
    made = [
        Document(path.stem, _beginning(path), path.stem.title(), path.name, {"kind": path.parent.name})
        for path in files
    ]
    return [*made, *(replace(one, id=f"twin of {one.id}") for one in made[:4])]


def _beginning(path: Path) -> str:
    return "\n\n".join(path.read_text("utf-8").split("\n\n")[:4])


class Both:
    """A local index and one on a server, filled alike."""

    def __init__(self, server: Engine, encoder: Encoder) -> None:
        self.engines = (Engine("local", server.folder / "local"), server)
        self.stores: list[Any] = [engine.open() for engine in self.engines]
        self.indexes = [Index.open(settings=engine.settings(**FEW), encoder=encoder) for engine in self.engines]
        self.encoder = encoder

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        for store in self.stores:
            store.add(documents)

    def delete(self, ids: Sequence[str]) -> None:
        assert len({store.delete(ids) for store in self.stores}) == 1

    def close(self) -> None:
        for opened in (*self.indexes, *self.stores):
            opened.close()


@pytest.fixture
def both(server_engine: Engine, toy_encoder: Encoder) -> Iterator[Both]:
    both = Both(server_engine, toy_encoder)
    yield both
    both.close()


def told(reply: Reply) -> list[Any]:
    return [(a.passage, a.text, a.start, a.end, a.score, a.roads, a.parts) for a in reply.answers]


def assert_same(ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    """Like ==, but says only the first difference: all of them would fill pages."""
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        for part, its_part in zip(one, other, strict=True):
            assert part == its_part


def assert_alike(both: Both) -> None:
    local, server = both.indexes
    for question in both.encoder.encode_questions(QUESTIONS):
        seen = []
        for store in both.stores:
            with store.view() as view:
                statistics = lexical.look_up(question, view)
            query = sparse_query(question, lexical.lex_weights(question, statistics), 0.3)
            hits = store.sparse_search(query, 7, {})
            near = store.dense_search(question.passage_vector[None], 5, {})[0]
            counts = (statistics.passages, dict(statistics.document_frequency))
            seen.append((counts, [hit.passage_id for hit in hits], [hit.passage_id for hit in near]))
        assert seen[0] == seen[1], question.text
    for strategy in STRATEGIES:
        for where in ({}, {"kind": "geography"}):
            ours = list(local.ask_many(QUESTIONS, k=10, strategy=strategy, where=where))
            theirs = list(server.ask_many(QUESTIONS, k=10, strategy=strategy, where=where))
            for one, other in zip(ours, theirs, strict=True):
                assert_same(told(one), told(other))
                assert one.candidates == other.candidates
    one = QUESTIONS[0]
    assert_same(told(local.ask(one, explain=True)), told(server.ask(one, explain=True)))
    assert server.ask(one).answers


def test_the_same_answers_also_after_updates_and_deletes(both: Both, documents: list[Document]) -> None:
    encoded = encode_all(documents, both.encoder)
    both.add(encoded[:12])
    assert_alike(both)
    both.add(encoded[12:])
    shorter = [replace(one, text=one.text.split("\n\n")[0] + "\n\nWritten again in 1999.") for one in documents[3:8]]
    both.add(encode_all(shorter, both.encoder))
    assert_alike(both)
    both.delete([documents[0].id, documents[-1].id, "nobody"])
    both.add(encoded[:1])
    both.delete([documents[9].id])
    assert_alike(both)
    assert [store.verify().problems for store in both.stores] == [(), ()]


def test_what_one_engine_exports_another_takes(both: Both, documents: list[Document]) -> None:
    local, server = both.stores
    local.add(encode_all(documents[:5], both.encoder))
    server.add(list(local.documents()))
    assert_alike(both)
    for ours, theirs in zip(local.documents(), server.documents(), strict=True):
        assert (ours.document, ours.content_hash) == (theirs.document, theirs.content_hash)
        for one, other in zip(ours.passages, theirs.passages, strict=True):
            assert one.passage == other.passage
            assert {f: dict(v) for f, v in one.features.items()} == {f: dict(v) for f, v in other.features.items()}


def test_without_features_in_the_source_all_is_the_same(
    opensearch: Engine, toy_encoder: Encoder, documents: list[Document]
) -> None:
    encoded = encode_all(documents[:4], toy_encoder)
    with opensearch.open(name="lean", features_in_source=False) as lean, opensearch.open(name="full") as full:
        for store in (lean, full):
            store.add(encoded)
        assert [one.passages[0].features for one in lean.documents()] == [
            one.passages[0].features for one in full.documents()
        ]
        query = {"lex": {"the": 1.0, "of": 0.5}}
        assert lean.sparse_search(query, 5, {}) == full.sparse_search(query, 5, {})
        assert lean.verify().problems == ()
        found = opensearch.request("GET", f"/{lean.describe()['index']}/_search")["hits"]["hits"]
        assert not any({"start", "lex", "block"} & hit["_source"].keys() for hit in found)
