"""Documents that a program hands over go the same way as files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexFailure
from sparc_search.loaders.given import given
from sparc_search.loaders.outcomes import Outcome, Summary
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.reading import Read
from sparc_search.loaders.walk import Root
from sparc_search.records import Document


def run(store: Any, encoder: Encoder | None, documents: Any) -> tuple[list[Outcome], Summary]:
    *events, summary = ingest(Plan(documents=documents), encoder, store)
    assert isinstance(summary, Summary)
    return [event for event in events if isinstance(event, Outcome)], summary


def test_records_dicts_and_texts(store: Any, toy_encoder: Encoder) -> None:
    documents = [
        Document("a", "The Eiger was climbed in 1858.", metadata={"year": 2024}),  # type: ignore[dict-item]
        {
            "id": 7,
            "title": "Seas",
            "text": "The Baltic is shallow.",
            "metadata": {"deep": False, "km": 1.5},
            "lang": "en",
        },
        "Only a text.",
        {"text": "Only a text."},
    ]
    outcomes, summary = run(store, toy_encoder, given(documents))
    assert (summary.indexed, summary.rejected) == (4, 0)
    assert store.documents["a"].document.metadata == {"year": "2024"}
    seas = store.documents["7"].document
    assert (seas.title, seas.metadata) == ("Seas", {"deep": "false", "km": "1.5", "lang": "en"})
    again, summary = run(store, toy_encoder, given(documents))
    assert {outcome.kind for outcome in again} == {"unchanged"}
    assert {outcome.document_id for outcome in again} == {outcome.document_id for outcome in outcomes}


@pytest.mark.parametrize("alone", ["A text.", {"text": "A text."}, Document("a", "A text.")])
def test_one_document_needs_no_list(store: Any, toy_encoder: Encoder, alone: Any) -> None:
    assert run(store, toy_encoder, given(alone))[1].indexed == 1


def test_what_is_no_document_is_rejected_with_its_number(store: Any, toy_encoder: Encoder) -> None:
    bad: list[Any] = [1, {"title": "no text"}, {"id": [1], "text": "x"}, {"id": "a", "text": 3}, "half \ud800", " "]
    outcomes, summary = run(store, toy_encoder, given([*bad, "Good."]))
    assert (summary.indexed, summary.rejected, summary.skipped) == (1, 5, 1)
    assert {outcome.source for outcome in outcomes if outcome.kind == "rejected"} >= {"document 1", "document 2"}
    assert all(outcome.remedy for outcome in outcomes if outcome.kind == "rejected")


def test_documents_are_taken_in_the_callers_thread_and_as_they_are_needed(store: Any, toy_encoder: Encoder) -> None:
    threads = set()

    def texts() -> Iterator[str]:
        for number in range(1_000):
            threads.add(threading.current_thread())
            yield f"Document {number} speaks."

    assert run(store, toy_encoder, given(texts()))[1].indexed == 1_000
    assert threads == {threading.current_thread()}


def test_what_came_before_a_fault_of_the_source_may_stay_and_the_fault_is_told(
    store: Any, toy_encoder: Encoder
) -> None:
    def texts() -> Iterator[str]:
        yield "One."
        raise IndexFailure("the source is damaged")

    with pytest.raises(IndexFailure, match="damaged"):
        run(store, toy_encoder, given(texts()))


def test_encoded_documents_need_no_encoder(store: Any, toy_encoder: Encoder) -> None:
    documents = [Document("a", "The Eiger was climbed in 1858."), Document("empty", "")]
    encoded = encode_all(documents, toy_encoder)
    moved = [Read(one.document, Root("index"), one) for one in encoded]
    _, summary = run(store, None, moved)
    assert (summary.indexed, summary.passages) == (2, sum(len(one.passages) for one in encoded))
    assert store.documents == {one.document.id: one for one in encoded}
    assert run(store, None, moved)[1].unchanged == 2


def test_documents_that_move_are_kept_even_if_they_say_nothing(store: Any, toy_encoder: Encoder) -> None:
    _, summary = run(store, toy_encoder, [Read(Document("empty", " "), Root("index"))])
    assert (summary.indexed, summary.skipped) == (1, 0)
    assert store.documents["empty"].passages == ()
