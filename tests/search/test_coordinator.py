"""The coordinator on engines of other kinds: it asks of them no more than the contract says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from engines import Store, open_local
from numpy.typing import NDArray
from plain_engine import Plain, ViewWithVectors, WithVectors
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine, Where
from sparc_search.errors import Unsupported
from sparc_search.records import STRATEGIES, Reply
from sparc_search.search.coordinator import Coordinator, SearchOptions
from sparc_search.search.dense_first import Vectors
from sparc_search.stored import Fetched, Hits
from sparc_search.stores.derived import DerivedVectors

QUESTION = "When was the Eiger climbed?"


@pytest.fixture
def store(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Store]:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


def found(reply: Reply) -> list[tuple[str, str, float]]:
    return [(answer.passage.id, answer.text, answer.score) for answer in reply.answers]


def ask(engine: Engine, vectors: Vectors | None, encoder: Encoder, options: SearchOptions) -> Reply:
    (reply,) = Coordinator(engine, vectors).answer(encoder.encode_questions([QUESTION]), options)
    return reply


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_engine_with_its_vectors_on_this_machine(
    tmp_path: Path, store: Store, toy_encoder: Encoder, strategy: str
) -> None:
    other = WithVectors(store)
    vectors = DerivedVectors(other, tmp_path / "other")
    for where in ({}, {"kind": "water"}):
        options = SearchOptions(strategy=strategy, where=where)  # type: ignore[arg-type]
        own = ask(store.engine, None, toy_encoder, options)
        derived = ask(other, vectors, toy_encoder, options)
        assert found(own) == found(derived)
        assert [answer.roads for answer in own.answers] == [answer.roads for answer in derived.answers]
    vectors.close()


def test_an_engine_without_vectors_says_what_to_do(tmp_path: Path, store: Store, toy_encoder: Encoder) -> None:
    other = Plain(store)
    vectors = DerivedVectors(other, tmp_path / "other")
    assert ask(other, vectors, toy_encoder, SearchOptions(strategy="sparse")).answers
    with pytest.raises(Unsupported, match="strategy"):
        ask(other, vectors, toy_encoder, SearchOptions())


def test_every_question_of_a_batch_hears_what_was_missing_for_it(store: Store, toy_encoder: Encoder) -> None:
    engine = Plain(store, missing={"eiger": "a shard", "matterhorn": "another", "climbed": "a third"})
    questions = [QUESTION, "Who climbed the Matterhorn?", "Which sea is shallow?", QUESTION]
    replies = Coordinator(engine).answer(toy_encoder.encode_questions(questions), SearchOptions(strategy="sparse"))
    assert [reply.degraded for reply in replies] == [
        ("a shard", "a third"),
        ("another", "a third"),
        (),
        ("a shard", "a third"),
    ]


def test_candidates_that_have_vanished_are_left_out(store: Store, toy_encoder: Encoder) -> None:
    options = SearchOptions(strategy="sparse")
    reply = ask(Plain(store, gone=["alps/0"]), None, toy_encoder, options)
    assert reply.answers[0].text == "1865"
    assert ask(Plain(store, gone=["alps/0", "alps/1", "seas/0"]), None, toy_encoder, options).answers == ()


def test_a_passage_found_twice_is_scored_once(store: Store, toy_encoder: Encoder) -> None:
    hybrid = ask(store.engine, None, toy_encoder, SearchOptions(k=100))
    spans = [(answer.passage.id, answer.start, answer.end) for answer in hybrid.answers]
    assert len(spans) == len(set(spans))
    assert hybrid.candidates == 3


def test_few_candidates_are_enough_if_they_are_the_right_ones(store: Store, toy_encoder: Encoder) -> None:
    few = ask(store.engine, None, toy_encoder, SearchOptions(sparse_candidates=1, dense_candidates=1, k=1))
    assert few.candidates <= 2
    assert few.answers[0].text == "1858"


def test_equal_answers_come_in_the_order_of_their_passages(store: Store, toy_encoder: Encoder) -> None:
    store.delete(["alps", "seas"])
    copies = [plain(id, "The Eiger was climbed in 1858.") for id in ("c", "a", "d", "b")]
    for copy in copies:
        store.add(encode_all([copy], toy_encoder))
    reply = ask(store.engine, None, toy_encoder, SearchOptions(k=4))
    assert [answer.passage.id for answer in reply.answers] == ["a/0", "b/0", "c/0", "d/0"]
    two = ask(store.engine, None, toy_encoder, SearchOptions(k=4, sparse_candidates=2, dense_candidates=2))
    assert {answer.passage.id for answer in two.answers} == {"a/0", "b/0"}


def test_no_questions_no_replies(store: Store) -> None:
    assert Coordinator(store.engine).answer([], SearchOptions()) == []


def test_all_questions_of_a_batch_see_one_state(store: Store, toy_encoder: Encoder) -> None:
    questions = toy_encoder.encode_questions([QUESTION] * 3)
    replies = Coordinator(store.engine).answer(questions, SearchOptions())
    assert len({reply.snapshot for reply in replies}) == 1
    assert np.allclose([reply.seconds["dense"] for reply in replies], replies[0].seconds["dense"])


class LossyView(ViewWithVectors):
    """One that has lost something wherever it is asked."""

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Where) -> list[Hits]:
        return [Hits(own.hits, ("vectors",)) for own in self.inner.dense_search(vectors, k, where)]

    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        return Fetched(self.inner.fetch(passage_ids).passages, ("passages",))


class Lossy(Plain):
    kind = LossyView


@pytest.mark.parametrize(
    ("strategy", "missing"),
    [
        ("sparse", ("a shard", "passages")),
        ("dense", ("vectors", "passages")),
        ("hybrid", ("a shard", "vectors", "passages")),
    ],
)
def test_what_each_stage_missed_is_told_once(
    store: Store, toy_encoder: Encoder, strategy: str, missing: tuple[str, ...]
) -> None:
    options = SearchOptions(strategy=strategy, explain=True)  # type: ignore[arg-type]
    reply = ask(Lossy(store, missing={"eiger": "a shard"}), None, toy_encoder, options)
    assert reply.degraded == missing
