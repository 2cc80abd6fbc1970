"""The coordinator on stores of other kinds: it asks of them no more than the protocols say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.dense_store import DenseStore
from sparc_search.encoder import Encoder
from sparc_search.records import STRATEGIES, Features, Reply
from sparc_search.search.coordinator import Coordinator, SearchOptions
from sparc_search.stored import Hit
from sparc_search.stores.dense import open_dense_store
from sparc_search.stores.local import LocalStore, open_store

QUESTION = "When was the Eiger climbed?"


@pytest.fixture
def store(tmp_path: Path, toy_encoder: Encoder) -> LocalStore:
    store = open_store(tmp_path / "index", toy_encoder.fingerprint, writable=True)
    store.add(encode_all(DOCUMENTS, toy_encoder))
    return store


class Plain:
    """A store that neither pins a state nor searches vectors: one on a server, say."""

    def __init__(self, store: LocalStore, gone: Sequence[str] = ()) -> None:
        self._store, self._gone = store, gone
        self.content_hashes, self.statistics = store.content_hashes, store.statistics
        self.add, self.delete, self.matching, self.close = store.add, store.delete, store.matching, store.close

    def sparse_search(self, query: Features, k: int, where: Mapping[str, str]) -> list[Hit]:
        return self._store.sparse_search(query, k, where)

    def fetch(self, passage_ids: Sequence[str]) -> list:  # type: ignore[type-arg]
        return self._store.fetch([id for id in passage_ids if id not in self._gone])


def found(reply: Reply) -> list[tuple[str, str, float]]:
    return [(answer.passage.id, answer.text, answer.score) for answer in reply.answers]


def ask(store: Searchable, dense: DenseStore | None, encoder: Encoder, options: SearchOptions) -> Reply:
    (reply,) = Coordinator(store, dense).answer(encoder.encode_questions([QUESTION]), options)  # type: ignore[arg-type]
    return reply


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_store_with_a_dense_store_beside_it(
    tmp_path: Path, store: LocalStore, toy_encoder: Encoder, strategy: str
) -> None:
    dense = open_dense_store(tmp_path / "dense", store, writable=True)
    for where in ({}, {"kind": "water"}):
        options = SearchOptions(strategy=strategy, where=where)  # type: ignore[arg-type]
        own = ask(store, None, toy_encoder, options)
        other = ask(Plain(store), dense, toy_encoder, options)
        assert found(own) == found(other)
        assert [answer.roads for answer in own.answers] == [answer.roads for answer in other.answers]
    store.close()


def test_candidates_that_have_vanished_are_left_out(store: LocalStore, toy_encoder: Encoder) -> None:
    reply = ask(Plain(store, gone=["alps/0"]), None, toy_encoder, SearchOptions())
    assert reply.answers[0].text == "1865"
    assert ask(Plain(store, gone=["alps/0", "alps/1", "seas/0"]), None, toy_encoder, SearchOptions()).answers == ()
    store.close()


def test_a_passage_found_twice_is_scored_once(store: LocalStore, toy_encoder: Encoder) -> None:
    hybrid = ask(store, None, toy_encoder, SearchOptions(k=100))
    spans = [(answer.passage.id, answer.start, answer.end) for answer in hybrid.answers]
    assert len(spans) == len(set(spans))
    assert hybrid.candidates == 3
    store.close()


def test_few_candidates_are_enough_if_they_are_the_right_ones(store: LocalStore, toy_encoder: Encoder) -> None:
    few = ask(store, None, toy_encoder, SearchOptions(sparse_candidates=1, dense_candidates=1, k=1))
    assert few.candidates <= 2
    assert few.answers[0].text == "1858"
    store.close()


def test_equal_answers_come_in_the_order_of_their_passages(store: LocalStore, toy_encoder: Encoder) -> None:
    store.delete(["alps", "seas"])
    copies = [plain(id, "The Eiger was climbed in 1858.") for id in ("c", "a", "d", "b")]
    for copy in copies:
        store.add(encode_all([copy], toy_encoder))
    reply = ask(store, None, toy_encoder, SearchOptions(k=4))
    assert [answer.passage.id for answer in reply.answers] == ["a/0", "b/0", "c/0", "d/0"]
    two = ask(store, None, toy_encoder, SearchOptions(k=4, sparse_candidates=2, dense_candidates=2))
    assert {answer.passage.id for answer in two.answers} == {"a/0", "b/0"}
    store.close()


def test_no_questions_no_replies(store: LocalStore) -> None:
    assert Coordinator(store).answer([], SearchOptions()) == []
    store.close()


def test_all_questions_of_a_batch_see_one_state(store: LocalStore, toy_encoder: Encoder) -> None:
    questions = toy_encoder.encode_questions([QUESTION] * 3)
    replies = Coordinator(store).answer(questions, SearchOptions())
    assert len({reply.snapshot for reply in replies}) == 1
    assert np.allclose([reply.seconds["dense"] for reply in replies], replies[0].seconds["dense"])
    store.close()
