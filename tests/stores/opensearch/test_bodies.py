"""The index bodies of both dialects, and what stands in which field."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_corpus import DOCUMENTS, encoded

from sparc_search.encoder import Encoder
from sparc_search.mappings import index_bodies
from sparc_search.records import AlignedPiece, Border
from sparc_search.stores.opensearch.bodies import (
    Counts,
    passage_body,
    read_facts,
    read_features,
    read_passage,
    read_record,
    read_vector,
    record_body,
    record_of,
    tag,
)
from sparc_search.stores.opensearch.checks import complaint


def leaves(body: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(body, dict):
        return {path: body}
    return {name: value for key, part in body.items() for name, value in leaves(part, f"{path}.{key}").items()}


def test_the_dialects_differ_in_how_metadata_are_kept_and_in_nothing_else() -> None:
    ours, theirs = leaves(index_bodies("opensearch")), leaves(index_bodies("elasticsearch"))
    different = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    assert {name.rpartition(".metadata.")[0] for name in different} == {
        ".passages.mappings.properties",
        ".documents.mappings.properties",
    }


@pytest.mark.parametrize("dialect", ["opensearch", "elasticsearch"])
def test_nothing_unknown_gets_in(dialect: str) -> None:
    for body in index_bodies(dialect).values():
        assert body["mappings"]["dynamic"] == "strict"


def stored(body: dict[str, Any]) -> dict[str, Any]:
    return {name: [body[name]] for name in ("block", "facts", "vector", "features") if name in body}


@pytest.mark.parametrize("readable", [True, False])
def test_a_passage_there_and_back(toy_encoder: Encoder, readable: bool) -> None:
    one = encoded(DOCUMENTS[0], toy_encoder).passages[0]
    passage = replace(one.passage, page=3, borders=(Border(2), Border(7, "cell")), metadata={"a": "é"})
    if not readable:
        passage = replace(
            passage, encoded_text="Row: é", alignment=(AlignedPiece(0, 5, 0, 0), AlignedPiece(5, 6, 0, 1))
        )
    body = json.loads(passage_body(replace(one, passage=passage), 7, readable=readable))
    assert read_passage(stored(body), check=True).passage == passage
    assert read_vector(stored(body))[0].tolist() == one.block.passage_vector.tolist()
    # What the server leaves out of `_source` is not there to read.
    source = {name: body[name] for name in ("start", "end", "lex")} if readable else {}
    assert read_features(stored(body), source) == {name: dict(v) for name, v in one.features.items()}
    assert body["generation"] == 7
    known = set(index_bodies("opensearch")["passages"]["mappings"]["properties"])
    assert body.keys() <= known


def test_a_passage_of_an_older_version_is_read(toy_encoder: Encoder) -> None:
    passage = replace(encoded(DOCUMENTS[0], toy_encoder).passages[0].passage, borders=(Border(2), Border(7)))
    facts = [passage.id, passage.document_id, 0, passage.text, 0, passage.title, passage.source, None, {}, [2, 7]]
    older = {"facts": [base64.b64encode(json.dumps(facts).encode()).decode()]}
    assert read_facts(older) == replace(passage, metadata={})
    now = json.loads(passage_body(encoded(DOCUMENTS[0], toy_encoder).passages[0], 1, readable=True))["facts"]
    assert len(json.loads(base64.b64decode(now))) == len(facts)  # an older version reads it too


def test_a_record_there_and_back(toy_encoder: Encoder) -> None:
    one = encoded(DOCUMENTS[0], toy_encoder)
    old = record_of(replace(one, passages=one.passages[:1]), 3)
    assert (old.before, old.gone) == (Counts(), ())
    record = record_of(replace(one, passages=one.passages[1:]), 4, old)
    assert (record.before, record.gone) == (old.counts, ("alps/0",))
    record = record_of(one, 4, old)
    assert read_record(json.loads(record_body(record))) == record
    marked = replace(record, marked=True)
    assert json.loads(record_body(marked))["content_hash"] == ""
    assert read_record(json.loads(record_body(marked))) == marked
    assert record.counts.terms["eiger"] == 1
    assert record.counts.terms["the"] == 2


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_different_metadata_have_different_tags(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (tag(*one) == tag(*other)) == (one == other)
    assert len(tag(*one).encode("utf-8", "surrogatepass")) <= 1000


def test_what_no_server_takes_is_said_before_it_is_sent(toy_encoder: Encoder) -> None:
    good = encoded(DOCUMENTS[0], toy_encoder)
    assert complaint(good) is None
    half = replace(good, document=replace(good.document, title="\ud800"))
    assert "half characters" in complaint(half).reason  # type: ignore[union-attr]
    long = replace(good, document=replace(good.document, id="x" * 9000))
    assert "8,000 bytes" in complaint(long).reason  # type: ignore[union-attr]
