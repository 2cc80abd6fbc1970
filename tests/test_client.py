"""The client gives what `Index` gives: the same records, the same errors, over a real socket."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from served import served
from small_corpus import DOCUMENTS
from toy_indexes import toy_encoder, toy_indexes

from sparc_search.client import BATCH, Client
from sparc_search.errors import ConfigError, EngineError, NotThere, SparcSearchError, UsageError
from sparc_search.index import Index
from sparc_search.records import Document, Reply, Section
from sparc_search.web import serving
from sparc_search.web.app import create_app
from sparc_search.web.limits import WebLimits

TOKEN = "0123456789abcdef0123456789abcdef"
WHO = "Who climbed the Matterhorn?"
LONG = Document("a/long one?", "The Eiger.\n\n" * 40, "Long", "", {}, (Section(0, "One"), Section(300, "Two", 2, 3)))


@pytest.fixture(scope="module")
def index(toy_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with toy_indexes(lambda: tmp_path_factory.mktemp("client"), toy_encoder()) as make:
        yield make([*DOCUMENTS, LONG])


@pytest.fixture(scope="module")
def address(index: Index) -> Iterator[str]:
    with served(create_app(index, token=TOKEN, limits=WebLimits(string=150))) as place:
        yield place


@pytest.fixture
def client(address: str) -> Client:
    return Client(address, token=TOKEN)


def timeless(reply: Reply) -> Reply:
    return replace(reply, seconds={})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 2, "strategy": "sparse"},
        {"where": {"kind": "water"}},
        {"explain": True},
        {"unit": "sentence"},
        {"all": True, "read": "never"},
    ],
)
def test_it_answers_as_the_index_does(client: Client, index: Index, options: dict[str, object]) -> None:
    mine = timeless(client.ask(WHO, **options))  # type: ignore[arg-type]
    theirs = timeless(index.ask(WHO, **options))  # type: ignore[arg-type]
    for answer, other in zip(mine.answers, theirs.answers, strict=True):
        assert sum(part.value for part in answer.parts) == pytest.approx(answer.score)
        assert replace(answer, parts=()) == replace(other, parts=(), passage=replace(other.passage, borders=()))
        assert {part.name for part in answer.parts} == {part.name for part in other.parts}
    assert replace(mine, answers=()) == replace(theirs, answers=())


@pytest.mark.parametrize("options", [{}, {"k": 1, "unit": "document"}, {"where": {"kind": "water", "lang": "en"}}])
def test_it_searches_as_the_index_does(client: Client, index: Index, options: dict[str, object]) -> None:
    mine, theirs = (place.search("Eiger climbed", **options) for place in (client, index))  # type: ignore[arg-type]
    assert [(hit.text, hit.unit, hit.phrase, hit.score) for hit in mine.answers] == [
        (hit.text, hit.unit, hit.phrase, hit.score) for hit in theirs.answers
    ]
    assert mine.answers


def test_many_questions_are_sent_in_batches(client: Client, index: Index) -> None:
    questions = [f"Who climbed mountain {number}?" for number in range(BATCH + 3)]
    mine = [reply.question for reply in client.ask_many(iter(questions), k=1)]
    assert mine == questions
    assert list(client.ask_many([])) == []


def test_documents_and_passages(client: Client, index: Index) -> None:
    assert client.document(LONG.id) == index.document(LONG.id) == LONG
    assert sorted(client.documents(), key=lambda document: document.id) == list(index.documents())
    assert list(client.passages("alps")) == list(index.passages("alps"))
    assert {passage.id for passage in client.passages()} == {passage.id for passage in index.passages()}
    assert client.stats()["passages"] == index.stats()["passages"]


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda client: client.document("nothing"), NotThere, "there is no document 'nothing'"),
        (lambda client: client.ask(" "), UsageError, "the question is empty"),
        (lambda client: client.ask("x", k=0), UsageError, "give a whole number from 1 to 50"),
        (lambda client: client.ask("x" * 2000), UsageError, "at most 1,000 are taken"),
    ],
)
def test_errors_are_those_of_the_index(
    client: Client, call: Callable[[Client], object], kind: type[SparcSearchError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        call(client)


def test_a_server_that_refuses_or_is_not_there(address: str) -> None:
    with pytest.raises(ConfigError, match="needs its token"):
        Client(address).ask(WHO)
    with serving.bound("127.0.0.1", 0) as closed:
        nowhere = serving.address_of(closed)
    with pytest.raises(EngineError, match="is `sparc-search serve` running there"):
        Client(nowhere, timeout=5).ask(WHO)
    for wrong in ("127.0.0.1:8000", "file:///etc/passwd"):
        with pytest.raises(UsageError, match="no address of a server"):
            Client(wrong)


def test_a_server_of_another_kind_gets_no_token_for_another_one() -> None:
    asked: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")  # type: ignore[attr-defined]
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(EngineError, match="the server answered 302"):
            Client(f"http://127.0.0.1:{server.server_port}", token=TOKEN).ask(WHO)
        server.shutdown()
        thread.join()
    assert asked == ["/api/v1/ask"]


def test_scores_and_reasons(client: Client, index: Index) -> None:
    best = index.ask(WHO).answers[0]
    scored = client.score(WHO, best.passage.id, best.start, best.end)
    assert (scored["text"], scored["score"]) == (best.text, best.score)
    why = client.why(WHO, answer=2, against=1)
    assert why["contrast"]["difference"] == why["a"]["score"] - why["b"]["score"]
    assert why["b"]["text"] == best.text
    with pytest.raises(NotThere):
        client.why(WHO, phrase="Kilimanjaro")
