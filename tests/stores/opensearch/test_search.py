"""Queries on a real server: names with every special character, exact order, what is missing is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all, encoded, plain
from starlette.testclient import TestClient

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexDamaged
from sparc_search.index import Index
from sparc_search.inspection import answer_view
from sparc_search.ngrams import feature_name
from sparc_search.stored import EncodedDocument
from sparc_search.stores.opensearch import queries
from sparc_search.web.app import create_app


def with_features(id: str, features: Mapping[str, Mapping[str, float]], encoder: Encoder) -> EncodedDocument:
    one = encoded(plain(id, "Words."), encoder)
    return replace(one, passages=(replace(one.passages[0], features=features),))


def special_names() -> list[str]:
    """Every entry of the model's vocabulary that is more than letters and digits, also as part of a bigram."""
    card = files("sparc_search.model.default").joinpath("tokenizer.json").read_text(encoding="utf-8")
    vocabulary = json.loads(card)["model"]["vocab"]
    odd = sorted(piece for piece in vocabulary if not (piece.isascii() and piece.removeprefix("##").isalnum()))
    odd += [
        "a.b",
        "...",
        ".",
        "%",
        "%2E",
        "a*",
        "?",
        "a\\b",
        '"',
        "^2",
        "/",
        "~",
        "_",
        "{}",
        "[",
        "::",
        "é\u0301",
        "\u200b",
    ]
    return list(dict.fromkeys([feature_name([piece]) for piece in odd] + [feature_name(["x", p]) for p in odd[:300]]))


def test_every_name_is_found_again(server_engine: Engine, toy_encoder: Encoder) -> None:
    names = special_names()
    assert len(names) > 1000
    step = 250
    documents = []
    for begin in range(0, len(names), step):
        some = {name: 1.0 + number / 256 for number, name in enumerate(names[begin : begin + step])}
        documents.append(with_features(f"d{begin // step:03d}", {"start": some, "end": {}, "lex": some}, toy_encoder))
    with server_engine.open() as store:
        store.add(documents)
        for field in ("start", "lex"):
            for begin in range(0, len(names), step):
                queries = [{field: {name: 2.0}} for name in names[begin : begin + step]]
                with store.view() as view:
                    together = view.sparse_search(queries, 3, {})
                for number, own in enumerate(together):
                    found = [(hit.passage_id, hit.score) for hit in own.hits]
                    expected = (f"d{begin // step:03d}/0", pytest.approx(2 * (1 + number / 256), rel=1e-6))
                    assert found == [expected], names[begin + number]
        counts = store.statistics(names).document_frequency
        assert counts == dict.fromkeys(names, 1)


def test_order_is_exact_where_the_server_cannot_tell(server_engine: Engine, toy_encoder: Encoder) -> None:
    weights = {"a": 1.0, "b": 1e-9, "c": 2e-9}
    documents = [
        with_features("d1", {"lex": {"a": 1.0}}, toy_encoder),
        with_features("d2", {"lex": {"a": 1.0, "b": 1.0}}, toy_encoder),
        with_features("d3", {"lex": {"a": 1.0, "c": 1.0}}, toy_encoder),
        with_features("d4", {"lex": {"a": 1.0, "c": 1.0}}, toy_encoder),
        with_features("d5", {"lex": {"a": 0.5, "c": 1.0}}, toy_encoder),
    ]
    with server_engine.open() as store:
        store.add(documents)
        for k, expected in ((5, "d3 d4 d2 d1 d5"), (3, "d3 d4 d2"), (1, "d3")):
            hits = store.sparse_search({"lex": weights}, k, {})
            assert [hit.passage_id for hit in hits] == [f"{id}/0" for id in expected.split()]


def test_a_crowd_that_ties_is_cut_by_id(server_engine: Engine, toy_encoder: Encoder) -> None:
    features = {"lex": {"a": 1.0}}
    with server_engine.open() as store:
        store.add([with_features(f"d{number:03d}", features, toy_encoder) for number in reversed(range(60))])
        store.add([with_features("last", {"lex": {"a": 1.0, "b": 1.0}}, toy_encoder)])
        hits = store.sparse_search({"lex": {"a": 1.0, "b": 1e-9}}, 3, {})
        assert [hit.passage_id for hit in hits] == ["last/0", "d000/0", "d001/0"]


def test_more_clauses_than_a_server_takes(opensearch: Engine, toy_encoder: Encoder) -> None:
    many = {f"w{number}": 1.0 + number for number in range(1500)}
    assert len(queries.clauses({"lex": many})) == queries.MOST_CLAUSES
    with opensearch.open() as store:
        store.add([with_features("d", {"lex": {"w1499": 1.0}}, toy_encoder)])
        (hit,) = store.sparse_search({"lex": many}, 3, {})
        assert hit.score == 1500


def test_a_query_for_nothing(opensearch: Engine, toy_encoder: Encoder) -> None:
    with opensearch.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        assert store.sparse_search({}, 5, {}) == []
        assert store.sparse_search({"lex": {"eiger": 0.0}}, 5, {}) == []


def test_what_is_missing_is_said(opensearch: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    with opensearch.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    with Index.open(settings=opensearch.settings(), encoder=toy_encoder) as index:
        engine = index.engine
        send = engine.server.send  # type: ignore[attr-defined]

        def partial(method: str, path: str, body: Any = None, params: Any = None) -> Any:
            answer = send(method, path, body, params)
            for one in answer.get("responses", [answer]) if "_search" in path or "_msearch" in path else []:
                one["_shards"] = {
                    "total": 2,
                    "successful": 1,
                    "failed": 1,
                    "failures": [{"reason": {"reason": "node left"}}],
                }
            return answer

        assert index.ask("When was the Eiger climbed?").degraded == ()
        monkeypatch.setattr(engine.server, "send", partial)  # type: ignore[attr-defined]
        reply = index.ask("When was the Eiger climbed?", strategy="sparse")
        assert reply.degraded == ("1 of 2 shards failed: node left",)
        assert reply.best is not None
        assert answer_view(index, "When was the Eiger climbed?", strategy="sparse").degraded == reply.degraded
        client = TestClient(create_app(index), base_url="http://127.0.0.1:8000")
        asked = {"q": "When was the Eiger climbed?", "strategy": "sparse"}
        assert client.get("/api/ask", params=asked).json()["degraded"] == list(reply.degraded)
        assert "Answers may be missing: 1 of 2 shards failed" in client.get("/", params=asked).text
        monkeypatch.undo()
        assert index.ask("When was the Eiger climbed?").degraded == ()


def test_a_reader_that_is_overtaken_by_two_writes_goes_on(opensearch: Engine, toy_encoder: Encoder) -> None:
    """The statistics of its state are gone by then. That is no damage, and those of the newest do as well."""
    with opensearch.open() as store, opensearch.open(writable=False) as reader:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        with reader.view() as view:
            for name in ("one", "two", "three"):
                store.add(encode_all([plain(name, "A zebra.")], toy_encoder))
            assert view.statistics(["zebra"]).document_frequency == {"zebra": 3}
        with reader.view() as view:
            opensearch.request("DELETE", f"/{view.state.version.documents}/_doc/statistics-{view.state.generation}")
            with pytest.raises(IndexDamaged, match="are missing"):
                view.statistics(["lake"])
