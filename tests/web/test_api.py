"""The HTTP API: what it answers, and how it says no."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from sparc_search.errors import EngineError, IndexDamaged
from sparc_search.index import Index
from sparc_search.inspection import passage_view, to_json
from sparc_search.records import Document
from sparc_search.web.app import create_app
from sparc_search.web.limits import WebLimits

from .conftest import MakeIndex, client_of

WHO = "Who climbed the Matterhorn?"


def error(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    found = response.json()["error"]
    assert found["status"] == status
    assert found["message"]
    assert "Traceback" not in response.text
    assert isinstance(found, dict)
    return found


def test_an_answer_is_what_the_index_answers(client: TestClient, index: Index) -> None:
    found = client.get("/api/ask", params={"q": WHO, "k": 2}).json()
    reply = index.ask(WHO, k=2)
    assert [(a["text"], a["score"], a["rank"]) for a in found["answers"]] == [
        (answer.text, answer.score, rank) for rank, answer in enumerate(reply.answers, start=1)
    ]
    best = found["answers"][0]
    assert best["passage"]["text"][best["start"] : best["end"]] == best["text"]
    assert sum(best["by_kind"].values()) == pytest.approx(best["score"])
    assert "parts" not in best
    assert "explanation" not in found
    assert found["strategy"] == "hybrid"
    assert found["snapshot"] == reply.snapshot


def test_explained_every_summand_is_there_and_the_runner_up_beside_it(client: TestClient) -> None:
    found = client.get("/api/ask", params={"q": WHO, "explain": "true"}).json()
    for answer in found["answers"]:
        assert sum(part["value"] for part in answer["parts"]) == pytest.approx(answer["score"])
    told = found["explanation"]
    first, second = found["answers"][:2]
    assert (told["comparison"]["rank"], told["comparison"]["other"]) == (1, 2)
    differences = [row["difference"] for row in told["comparison"]["by_name"]]
    assert sum(differences) == pytest.approx(first["score"] - second["score"])
    assert {row["name"] for row in told["question"]["ngrams"]} >= {"matterhorn", "climbed"}
    assert told["opensearch_query"]["query"]["bool"]["should"]
    other = client.get("/api/ask", params={"q": WHO, "explain": "true", "rank": 2, "against": 1}).json()
    comparison = other["explanation"]["comparison"]
    assert (comparison["rank"], comparison["other"]) == (2, 1)
    assert comparison["difference"] == pytest.approx(-told["comparison"]["difference"])


def test_a_batch_is_explained_as_a_single_question_is(client: TestClient) -> None:
    alone = client.get("/api/ask", params={"q": WHO, "explain": "true", "k": 3}).json()
    body = {"questions": [WHO, "What is nowhere?"], "k": 3, "explain": True}
    first, second = client.post("/api/ask", json=body).json()["replies"]
    assert {**first, "seconds": 0} == {**alone, "seconds": 0}
    assert second["explanation"]["question"]["question"] == "What is nowhere?"
    empty = client.post("/api/ask", json={**body, "where": {"kind": "no such"}}).json()["replies"]
    assert [(reply["answers"], reply["explanation"]["comparison"]) for reply in empty] == [([], None), ([], None)]


def test_strategy_and_filters_are_heard(client: TestClient) -> None:
    water = client.get("/api/ask", params={"q": WHO, "where": "kind=water"}).json()
    assert {answer["passage"]["document_id"] for answer in water["answers"]} == {"seas"}
    sparse = client.get("/api/ask", params={"q": WHO, "strategy": "sparse"}).json()
    assert {road for answer in sparse["answers"] for road in answer["roads"]} == {"sparse"}


def test_units_and_equal_answers(client: TestClient, index: Index) -> None:
    found = client.get("/api/ask", params={"q": WHO, "unit": "sentence", "k": 1}).json()
    best = found["answers"][0]
    assert (best["unit"], best["text"]) == ("sentence", index.ask(WHO, unit="sentence").answers[0].text)
    assert best["phrase"]["text"] in best["text"]
    assert found["guess"] is False
    body = {"questions": [WHO], "unit": "document", "all": True}
    (reply,) = client.post("/api/ask", json=body).json()["replies"]
    documents = [answer["passage"]["document_id"] for answer in reply["answers"]]
    assert len(documents) == len(set(documents)) > 1
    assert error(client.get("/api/ask", params={"q": WHO, "unit": "book"}), 422)
    assert error(client.post("/api/ask", json={"questions": [WHO], "all": "yes"}), 422)


def test_many_questions_at_once_are_answered_as_one_by_one(client: TestClient) -> None:
    questions = [WHO, "When was the Eiger climbed?"]
    found = client.post("/api/ask", json={"questions": questions, "k": 1, "strategy": "sparse"}).json()["replies"]
    for question, reply in zip(questions, found, strict=True):
        alone = client.get("/api/ask", params={"q": question, "k": 1, "strategy": "sparse"}).json()
        assert {**reply, "seconds": 0} == {**alone, "seconds": 0}
    explained = client.post("/api/ask", json={"questions": [WHO], "explain": True}).json()["replies"][0]
    assert any(part["name"] for part in explained["answers"][0]["parts"])


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": "x" * 1001}, "q"),
        ({"q": "x", "k": "0"}, "k"),
        ({"q": "x", "k": "51"}, "k"),
        ({"q": "x", "k": "1e1"}, "k"),
        ({"q": "x", "k": "٣"}, "k"),
        ({"q": "x", "strategy": "magic"}, "strategy"),
        ({"q": "x", "where": "lang"}, "where"),
        ({"q": "x", "where": ""}, "where"),
        ({"q": "x", "explain": "maybe"}, "explain"),
        ({"q": ["x", "y"]}, "q"),
        ({"q": "x", "strategie": "sparse"}, "strategie"),
    ],
)
def test_a_wrong_parameter_is_named(client: TestClient, query: dict[str, Any], parameter: str) -> None:
    found = error(client.get("/api/ask", params=query), 422)
    assert found["type"] == "invalid_parameter"
    assert found["parameter"] == parameter


def test_parameters_that_exclude_each_other_are_a_conflict(client: TestClient) -> None:
    found = error(client.get("/api/ask", params={"q": "x", "where": ["a=1", "a=2"]}), 409)
    assert (found["type"], found["parameter"]) == ("conflict", "where")
    error(client.get("/api/passages/alps/1", params={"token": 1, "phrase": "Whymper"}), 409)


def test_a_question_of_nothing_but_control_characters_is_a_usage_error(client: TestClient) -> None:
    found = error(client.get("/api/ask", params={"q": "\x00\x1b "}), 422)
    assert (found["type"], found["remedy"]) == ("usage", "ask something")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b"\xff\xfe", 400),
        (b"{}", 422),
        (b'{"questions": []}', 422),
        (b'{"questions": "x"}', 422),
        (b'{"questions": [1]}', 422),
        (b'{"questions": ["x"], "k": true}', 422),
        (b'{"questions": ["x"], "k": 1000}', 422),
        (b'{"questions": ["x"], "strategy": ["sparse"]}', 422),
        (b'{"questions": ["x"], "where": {"a": 1}}', 422),
        (b'{"questions": ["x"], "explain": 1}', 422),
        (b'{"questions": ["x"], "more": 1}', 422),
    ],
)
def test_a_wrong_body_is_refused(client: TestClient, body: bytes, status: int) -> None:
    error(client.post("/api/ask", content=body, headers={"content-type": "application/json"}), status)


def test_limits_on_question_batch_filters_and_body(index: Index) -> None:
    client = client_of(create_app(index, limits=WebLimits(question=10, answers=3, batch=2, filters=1, body=200)))
    assert client.get("/api/ask", params={"q": "x" * 10, "k": 3}).status_code == 200
    error(client.get("/api/ask", params={"q": "x" * 11}), 422)
    error(client.get("/api/ask", params={"q": "x", "k": 4}), 422)
    error(client.get("/api/ask", params={"q": "x", "where": ["a=1", "b=2"]}), 422)
    error(client.post("/api/ask", json={"questions": ["x"] * 3}), 422)
    error(client.post("/api/ask", json={"questions": ["x" * 11]}), 422)
    error(client.post("/api/ask", json={"questions": ["x"], "where": {"a": "1", "b": "2"}}), 422)
    big = json.dumps({"questions": ["x"], "where": {"a": "y" * 200}}).encode()
    error(client.post("/api/ask", content=big, headers={"content-type": "application/json"}), 413)

    def endless() -> Any:  # without a length: counted while it comes in
        yield from [b" " * 50] * 10

    error(client.post("/api/ask", content=endless(), headers={"content-type": "application/json"}), 413)


def test_a_value_that_is_repeated_counts_each_time(client: TestClient) -> None:
    assert client.get("/api/discover?" + "&".join(["column=id"] * 20)).status_code == 200
    told = client.get("/api/discover?" + "&".join(["column=id"] * 21)).json()["error"]
    assert (told["status"], told["parameter"]) == (422, "column")


def test_only_json_is_taken(client: TestClient) -> None:
    error(client.post("/api/ask", content=b"questions=x", headers={"content-type": "text/plain"}), 415)


def test_a_passage_is_its_view(client: TestClient, index: Index) -> None:
    found = client.get("/api/passages/alps/1", params={"phrase": "Edward Whymper", "side": "start", "n": "1"}).json()
    expected = passage_view(index, "alps/1", phrase="Edward Whymper", sides=("start",), sizes=(1,))
    assert found == json.loads(json.dumps(to_json(expected)))
    assert found["selection"]["text"] == "Edward Whymper"
    assert all(row["end"] == 0 and row["n"] == 1 for row in found["ngrams"])
    token = client.get("/api/passages/alps/1", params={"token": 1}).json()
    assert token["selection"]["text"] == "Matterhorn"
    span = client.get("/api/passages/alps/1", params={"span": "4-14"}).json()
    assert span["selection"] == token["selection"]
    most = max(row["start"] for row in token["selection"]["ngrams"])
    high = client.get("/api/passages/alps/1", params={"token": 1, "min": most}).json()
    assert 0 < len(high["selection"]["ngrams"]) < len(token["selection"]["ngrams"])


def test_what_is_not_there_is_404(client: TestClient) -> None:
    for address in (
        "/api/passages/nope",
        "/api/passages/alps/1?token=999",
        "/api/passages/alps/1?phrase=zzz",
        "/api/features/%1C",
    ):
        assert error(client.get(address), 404)["type"] == "not_there"
    assert error(client.get("/api/nothing"), 404)["type"] == "not_found"
    assert error(client.get("/nothing"), 404)["type"] == "not_found"


@pytest.mark.parametrize(
    "query", ["token=-1", "token=x", "span=4", "span=a-b", "side=left", "n=3", "min=-1", "min=nan"]
)
def test_wrong_parameters_of_a_passage(client: TestClient, query: str) -> None:
    error(client.get(f"/api/passages/alps/1?{query}"), 422)


def test_a_method_that_does_not_exist_is_405(client: TestClient) -> None:
    assert error(client.delete("/api/index"), 405)["type"] == "method_not_allowed"
    refused = client.delete("/api/ask")
    assert error(refused, 405)
    assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_a_feature(client: TestClient) -> None:
    found = client.get("/api/features/climb%20%23%23ing").json()
    assert found["name"] == "climb ##ing"
    climbed = client.get("/api/features/climbed", params={"k": 1, "bins": 5}).json()
    start = climbed["fields"][0]
    assert start["statistics"]["passages"] == 2
    assert len(start["statistics"]["counts"]) == 5
    assert len(start["top"]) == 1
    assert start["top"][0]["value"] == start["statistics"]["largest"]


def test_the_index_and_questions_and_suggestions(client: TestClient) -> None:
    found = client.get("/api/index").json()
    assert (found["passages"], found["documents"], found["engine"]) == (3, 2, "local")
    assert found["sample"]["passages"] == 3
    weights = client.get("/api/question", params={"q": WHO}).json()
    assert weights["ngrams"][0]["weight"] > 0
    assert client.get("/api/suggest", params={"text": "matt"}).json()["features"][0]["text"] == "matterhorn"


def test_discover_lists_filters_and_gives_the_same_as_a_query(client: TestClient) -> None:
    found = client.get("/api/discover", params={"text": "climbed", "without": "kind=water"}).json()
    assert [row["id"] for row in found["passages"]] == ["alps/0", "alps/1"]
    assert found["opensearch_query"]["query"]["bool"]["must_not"]
    only = client.get("/api/discover", params={"feature": "start:whymper"}).json()
    assert [row["id"] for row in only["passages"]] == ["alps/1"]
    out = client.get("/api/discover", params={"without_feature": "start:whymper"}).json()
    assert "alps/1" not in [row["id"] for row in out["passages"]]
    documents = client.get("/api/discover", params={"of": "documents"}).json()["documents"]
    assert {row["id"]: row["passages"] for row in documents} == {"alps": 2, "seas": 1}
    page = client.get("/api/discover", params={"size": 1, "offset": 1}).json()
    assert len(page["passages"]) == 1
    assert page["more"]
    error(client.get("/api/discover", params={"feature": "text:x"}), 422)


def test_downloads_hold_every_row(make_index: MakeIndex) -> None:
    from small_corpus import plain

    many = [plain(f"d{at:03}", f"Number {at} is here.", {"at": str(at)}) for at in range(450)]
    client = client_of(create_app(make_index([*many, plain("evil", '=HYPERLINK("x") here', {"at": "-1"})])))
    answer = client.get("/api/discover/download.csv", params={"text": "here", "column": ["text", "metadata.at", "id"]})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="passages.csv"' in answer.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["text", "metadata.at", "id"]
    assert len(rows) == 452
    assert ["Number 7 is here.", "7", "d007/0"] in rows
    assert ['\'=HYPERLINK("x") here', "'-1", "evil/0"] in rows  # no formula for a spreadsheet
    listed = client.get("/api/discover/download.json", params={"text": "here"}).json()
    assert len(listed) == 451
    assert client.get("/api/discover/download.json", params={"text": "nowhere"}).json() == []


def test_strings_are_cut_in_answers(make_index: MakeIndex) -> None:
    from small_corpus import plain

    client = client_of(create_app(make_index([plain("long", "Whymper " + "x" * 1_000_000)])))
    for address in (
        "/api/ask?q=Whymper&explain=true",
        "/api/passages/long/0",
        "/api/discover",
        "/api/features/whymper",
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        assert len(answer.content) < 2_000_000


def test_errors_of_the_engine_are_503_and_unforeseen_ones_tell_nothing(index: Index, monkeypatch: Any) -> None:
    client = client_of(create_app(index))

    def failing(problem: Exception) -> Any:
        def fail(*_: Any, **__: Any) -> Any:
            raise problem

        return fail

    for problem, kind in (
        (IndexDamaged("bytes changed", "verify"), "index_unavailable"),
        (EngineError("down"), "engine_unavailable"),
    ):
        monkeypatch.setattr(Index, "ask", failing(problem))
        answer = client.get("/api/ask", params={"q": "x"})
        assert error(answer, 503)["type"] == kind
        assert answer.headers["retry-after"]
    monkeypatch.setattr(Index, "ask", failing(RuntimeError("the secret path /etc/x")))
    answer = client.get("/api/ask", params={"q": "x"})
    assert error(answer, 500)["type"] == "internal"
    assert "secret" not in answer.text


def test_health_and_readiness(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(create_app(index))
    with index.engine.view() as view:
        expected = {"status": "ok", "index": view.identity, "generation": view.statistics([]).snapshot}
    assert client.get("/healthz").json() == expected
    assert client.get("/readyz").json()["status"] == "ready"

    def gone(*_: object) -> None:
        raise EngineError("gone")

    monkeypatch.setattr(type(index.engine), "statistics", gone)
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_metrics_only_if_wanted(index: Index) -> None:
    error(client_of(create_app(index)).get("/metrics"), 404)
    client = client_of(create_app(index, with_metrics=True))
    client.get("/api/ask", params={"q": "x"})
    client.get("/api/passages/secret-id")
    client.get("/no/such/thing")
    text = client.get("/metrics").text
    assert 'sparc_search_requests_total{method="GET",route="/api/ask",status="200"} 1.0' in text
    assert 'route="/api/passages/{id:path}",status="404"} 1.0' in text
    assert "secret-id" not in text
    assert "such" not in text
    assert "sparc_search_request_seconds_bucket" in text


def test_the_overview_is_made_again_when_the_index_changes(index: Index) -> None:
    app = create_app(index)
    state = app.state.shared
    first = state.overview()
    assert state.overview() == first
    made = state._kept["overview"]
    state.overview()
    assert state._kept["overview"] is made
    state._kept["overview"] = (("another", -1), replace(first, snapshot=-1))
    assert state.overview() == first


def test_an_answer_that_still_holds_is_not_sent_again(make_index: MakeIndex) -> None:
    index = make_index()
    client = client_of(create_app(index))
    address = "/api/v1/ask?q=Who+climbed+the+Matterhorn%3F"
    first = client.get(address)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    for known in (tag, f'"other", {tag}', tag.removeprefix("W/"), "*"):
        again = client.get(address, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for unknown in ('"other"', tag.replace('"', ""), "nonsense", ""):
        assert client.get(address, headers={"If-None-Match": unknown}).status_code == 200
    wrong = client.get(f"{address}&k=0", headers={"If-None-Match": tag})
    assert (wrong.status_code, "etag" in wrong.headers) == (422, False)
    index.delete(["seas"])
    changed = client.get(address, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_other_settings_have_other_tags(make_index: MakeIndex) -> None:
    index = make_index()
    tags = []
    for settings in (index.settings, index.settings.changed(lex_weight=0.7), index.settings.changed(token="x" * 20)):
        with Index.open(settings=settings, encoder=index.encoder) as other:
            tags.append(client_of(create_app(other)).get("/api/v1/question?q=x").headers["etag"])
    assert tags[0] == tags[2] != tags[1]


def test_what_changes_without_the_index_has_no_tag(client: TestClient) -> None:
    for address in ("/api/v1/index", "/api/v1/discover/download.json", "/healthz"):
        assert "etag" not in client.get(address).headers
    assert "etag" not in client.post("/api/v1/ask", json={"questions": [WHO]}).headers


def test_a_document_and_its_text_part_by_part(client: TestClient, index: Index) -> None:
    whole = client.get("/api/v1/documents/alps").json()
    document = index.document("alps")
    assert (whole["text"], whole["characters"], whole["start"]) == (document.text, len(document.text), 0)
    assert (whole["title"], whole["metadata"]) == (document.title, dict(document.metadata))
    part = client.get("/api/v1/documents/alps?start=4&length=5").json()
    assert (part["text"], part["start"], part["characters"]) == ("Eiger", 4, len(document.text))
    assert client.get("/api/v1/documents/alps?start=99999").json()["text"] == ""
    assert error(client.get("/api/v1/documents/nothing"), 404)["type"] == "not_there"
    assert error(client.get("/api/v1/documents/alps?length=0"), 422)["parameter"] == "length"


def test_a_search_finds_passages_once(client: TestClient) -> None:
    found = client.get("/api/v1/search", params={"q": "climbed"}).json()["answers"]
    ids = [answer["passage"]["id"] for answer in found]
    assert len(ids) == len(set(ids)) == 3
    assert {answer["unit"] for answer in found} == {"passage"}
    assert error(client.get("/api/v1/search"), 422)["parameter"] == "q"
    assert error(client.get("/api/v1/search?q=x&explain=true"), 422)["parameter"] == "explain"


WHY = "When was the Eiger climbed?"


def test_any_span_has_a_score(client: TestClient) -> None:
    best = client.get("/api/ask", params={"q": WHY}).json()["answers"][0]
    span = {"q": WHY, "passage": best["passage"]["id"], "start": best["start"], "end": best["end"]}
    scored = client.get("/api/score", params=span).json()
    assert (scored["text"], scored["score"]) == (best["text"], best["score"])
    assert scored == client.get("/api/v1/score", params=span).json()
    for wrong in ("q", "passage", "start", "end"):
        refused = client.get("/api/score", params={name: value for name, value in span.items() if name != wrong})
        assert (refused.status_code, refused.json()["error"]["parameter"]) == (422, wrong)
    assert client.get("/api/score", params={**span, "start": 900, "end": 910}).status_code == 404
    assert client.get("/api/score", params={**span, "passage": "nowhere"}).status_code == 404


def test_beside_a_second_index(index: Index, make_index: MakeIndex) -> None:
    second = make_index([Document("old", "The Eiger was climbed in 1921.")])
    client = client_of(create_app(index, also={"before": second}))
    why = client.get("/api/why", params={"q": WHY, "against_index": "before"}).json()
    assert (why["a"]["text"], why["b"]["text"], why["b"]["index"]) == ("1858", "1921", "before")
    assert "known are: before" in client.get("/api/why", params={"q": WHY, "against_index": "x"}).text


def test_two_phrases_side_by_side(client: TestClient) -> None:
    why = client.get("/api/why", params={"q": WHY}).json()
    assert (why["a"]["rank"], why["b"]["rank"]) == (1, 2)
    assert why["question"]["ngrams"][0]["positions"]
    for other in ({"against": "tfidf"}, {"against_phrase": "summit"}, {"against_passage": "seas/0"}):
        told = client.get("/api/why", params={"q": WHY, **other}).json()
        differences = sum(row["difference"] for row in told["contrast"]["by_name"])
        assert differences == pytest.approx(told["a"]["score"] - told["b"]["score"])
    assert client.get("/api/why", params={"q": WHY, "against": "1", "against_phrase": "x"}).status_code == 409
    assert client.get("/api/why", params={"q": WHY, "against_index": "x"}).status_code == 404
    assert client.get("/api/why", params={"q": WHY, "weights": "all"}).json()["a"]["weights"]


@pytest.mark.parametrize("path", ["/api/v1/passages/%0A", "/passages/%0A"])
def test_a_line_end_is_the_id_of_no_passage(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
