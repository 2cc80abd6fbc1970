"""Whatever a server answers, only errors of the package come out. Here something else listens at the address."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sparc_search.engine import Engine
from sparc_search.errors import EngineError, SparcSearchError
from sparc_search.opening import open_engine
from sparc_search.settings import Settings
from sparc_search.stored import Listing

Answers = Callable[[str], tuple[int, bytes]]

NAMES = [
    "hits",
    "fields",
    "_source",
    "docs",
    "found",
    "_shards",
    "total",
    "failed",
    "responses",
    "_id",
    "_score",
    "body",
    "sort",
    "id",
    "document",
    "block",
    "facts",
    "vector",
    "error",
    "aggregations",
    "buckets",
    "version",
    "number",
    "_seq_no",
    "_primary_term",
    "content_hash",
    "terms",
    "count",
    "indices",
    "generation",
]
STATE = {"identity": "i", "passages_index": "p", "generation": 3, "documents": 2, "passages": 5, "words": 9}
META = {"format": 1, "encoder": "toy-1", "identity": "i", "complete": True}
KNOWN = {
    "/": {"version": {"number": "2.19.0", "distribution": "opensearch"}},
    "/_doc/state": {"found": True, "_source": {"body": STATE}, "_seq_no": 1, "_primary_term": 1},
    "/_mapping": {"p": {"mappings": {"_meta": {"sparc-search": META}}}},
}


class Listener(ThreadingHTTPServer):
    """Answers as it is told, whatever is asked."""

    answers: Answers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        assert isinstance(self.server, Listener)
        status, body = self.server.answers(self.path)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    server = Listener(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def opened(listener: Listener, folder: Path) -> Engine:
    settings = Settings().changed(index=folder / "index", engine="opensearch", url=listener.url, index_name="x")
    return open_engine(settings)


@pytest.mark.parametrize(
    ("status", "body"),
    [(404, b"{}"), (404, b"Not Found"), (200, b"[]"), (200, b"null"), (200, b'"x"'), (200, b"<html>"), (200, b""),
     (200, b'{"version": 7}'), (200, b'{"version": {"number": null}}'), (418, b"{}"), (200, b'{"version"')],
)  # fmt: skip
def test_something_else_at_the_address(listener: Listener, tmp_path: Path, status: int, body: bytes) -> None:
    listener.answers = lambda path: (status, body)
    with pytest.raises(EngineError) as caught:
        opened(listener, tmp_path)
    assert caught.value.remedy


def test_only_our_own_errors_come_out_of_any_answer(listener: Listener, tmp_path: Path) -> None:
    chance = random.Random(14)
    seen: set[str] = set()
    listener.answers = lambda path: (200, json.dumps(known(path)).encode())
    with opened(listener, tmp_path) as engine:
        for number in range(400):
            listener.answers = lambda path: (200, json.dumps(known(path) or value(chance, 4)).encode())
            name, act = ACTIONS[number % len(ACTIONS)]
            try:
                with engine.view() as view:
                    act(view, engine)
            except SparcSearchError as error:
                seen.add(type(error).__name__)
            except Exception as error:
                raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
    assert "EngineError" in seen


def test_only_our_own_errors_come_out_of_opening(listener: Listener, tmp_path: Path) -> None:
    chance = random.Random(15)

    def answer(path: str) -> tuple[int, bytes]:
        right = known(path)
        wrong = right is None or (path != "/" and chance.random() < 0.5)
        return 200, json.dumps(damaged(chance, right) if wrong else right).encode()

    listener.answers = answer
    for _ in range(60):
        try:
            opened(listener, tmp_path).close()
        except SparcSearchError:
            continue


def known(path: str) -> Any:
    """What a server would say, of what it must say to be taken for one with an index."""
    path = path.partition("?")[0]
    return (
        KNOWN["/"] if path == "/" else next((a for end, a in KNOWN.items() if end != "/" and path.endswith(end)), None)
    )


def value(chance: random.Random, depth: int) -> Any:
    """Any JSON, with the names that a server uses."""
    kind = chance.randrange(8 if depth else 5)
    if kind >= 6 or (depth == 4 and chance.random() < 0.7):
        return {name: value(chance, depth - 1) for name in chance.sample(NAMES, 5)}
    if kind == 5:
        return [value(chance, depth - 1) for _ in range(chance.randrange(3))]
    return (None, True, chance.randrange(-5, 5), "text", 0.5)[kind]


def damaged(chance: random.Random, right: Any) -> Any:
    """An answer with one part gone or replaced."""
    if not isinstance(right, dict) or not right or chance.random() < 0.2:
        return value(chance, 2)
    name = chance.choice(sorted(right))
    if chance.random() < 0.3:
        return {key: part for key, part in right.items() if key != name}
    return {**right, name: damaged(chance, right[name])}


ACTIONS: tuple[tuple[str, Callable[[Any, Any], object]], ...] = (
    ("sparse_search", lambda view, _: view.sparse_search([{"lex": {"a": 1.0}}], 3, {"k": "v"})),
    ("fetch", lambda view, _: view.fetch(["a", "b"])),
    ("fetch_blocks", lambda view, _: view.fetch_blocks(["a", "b"])),
    ("fetch_passages", lambda view, _: view.fetch_passages(["a", "b"])),
    ("statistics", lambda view, _: view.statistics(["a"])),
    ("content_hashes", lambda view, _: view.content_hashes(["a"])),
    ("documents", lambda view, _: list(view.documents())),
    ("documents_from", lambda view, _: list(view.documents_from(""))),
    ("vector_changes", lambda view, _: list(view.vector_changes(0))),
    ("matching", lambda view, _: view.matching({"k": "v"})),
    ("list_passages", lambda view, _: view.list_passages(Listing(text="a"))),
    ("list_documents", lambda view, _: view.list_documents(Listing())),
    ("metadata_values", lambda view, _: view.metadata_values(3)),
    ("frequent_features", lambda view, _: view.frequent_features("lex", 3)),
    ("features_like", lambda view, _: view.features_like("a", 3)),
    ("feature_statistics", lambda view, _: view.feature_statistics("lex", "a", 3)),
    ("describe", lambda _, engine: engine.admin().describe()),
    ("size", lambda _, engine: engine.admin().size_in_bytes()),
    ("verify", lambda _, engine: engine.admin().verify()),
)
