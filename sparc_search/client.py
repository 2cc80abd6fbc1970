"""An index on another machine, or in another process: the same methods as `Index`, over the HTTP API of `serve`.

    from sparc_search.client import Client

    client = Client("http://127.0.0.1:8000", token="…")
    print(client.ask("Who signed the lease?").best.text)

It gives the same records and raises the same errors as `Index`, needs nothing but the standard library, and may be used
from several threads. What only the model needs of a passage (borders, what it read) is not sent.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from .errors import ConfigError, EngineError, NotThere, SparcSearchError, UsageError
from .records import Document, Passage, Reply, Strategy, Unit

Record = TypeVar("Record")
BATCH: Final = 64
"""Questions that are sent together."""
_PAGE: Final = 200
_ERRORS: Final[Mapping[int, type[SparcSearchError]]] = {
    401: ConfigError,
    403: ConfigError,
    404: NotThere,
    409: UsageError,
    413: UsageError,
    421: ConfigError,
    422: UsageError,
}


class _NoRedirects(HTTPRedirectHandler):
    """The API redirects nobody, and a token is for one server only."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing: what points elsewhere is an error."""


_OPENER: Final = build_opener(_NoRedirects)


class Client:
    """An index behind a server. Every call is one request or several; nothing is kept open between them."""

    def __init__(self, url: str, *, token: str = "", timeout: float = 60.0) -> None:
        """The server's address, its token if it needs one, and how many seconds to wait for an answer."""
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no address of a server", "give one such as http://127.0.0.1:8000")
        self._base = url.rstrip("/") + "/api/v1"
        self._headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._timeout = timeout

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        unit: Unit | None = None,
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
        explain: bool = False,
        all: bool = False,
        read: int | str | None = None,
    ) -> Reply:
        """Answer one question, as `Index.ask` does."""
        (reply,) = self.ask_many(
            [question], k=k, unit=unit, strategy=strategy, where=where, explain=explain, all=all, read=read
        )
        return reply

    def ask_many(
        self,
        questions: Iterable[str],
        *,
        k: int | None = None,
        unit: Unit | None = None,
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
        explain: bool = False,
        all: bool = False,
        read: int | str | None = None,
    ) -> Iterator[Reply]:
        """Answer many questions, in their order; they are sent in batches."""
        chosen = {"k": k, "unit": unit, "strategy": strategy, "read": read}
        options: dict[str, object] = {name: value for name, value in chosen.items() if value is not None}
        options |= {"where": dict(where or {}), "explain": explain, "all": all}
        stream = iter(questions)
        while batch := list(islice(stream, BATCH)):
            for told in self._call("/ask", body={"questions": batch, **options})["replies"]:
                yield _reply(told)

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        unit: Unit = "passage",
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Reply:
        """The passages (or sentences, or documents) that fit some words best, as `Index.search` gives them."""
        filters = [f"{key}={value}" for key, value in (where or {}).items()]
        parameters = {"q": query, "k": k, "unit": unit, "strategy": strategy, "where": filters}
        return _reply(self._call("/search", parameters))

    def score(self, question: str, passage_id: str, start: int, end: int) -> dict[str, Any]:
        """The exact score of any span of a passage and what pays for it, as `inspection.score_view` gives it."""
        span = {"q": question, "passage": passage_id, "start": start, "end": end}
        told: dict[str, Any] = self._call("/score", span)
        return told

    def why(self, question: str, **choices: str | int) -> dict[str, Any]:
        """Two phrases side by side, as `inspection.why_view` gives them; choices are parameters of `/api/v1/why`.

        `answer=3`, or `passage=…` with `phrase=…` or `span="12-17"`, says which; `against=1`, `against="tfidf"`,
        `against_phrase=…` and so on, beside what.
        """
        told: dict[str, Any] = self._call("/why", {"q": question, **choices})
        return told

    def document(self, id: str) -> Document:
        """The document of an id; `NotThere` if there is none."""
        path = f"/documents/{quote(id, safe='')}"
        told = self._call(path)
        text, sections = told["text"], told["sections"]
        while len(text) < told["characters"]:
            part = self._call(path, {"start": len(text)})
            text, sections = text + part["text"], sections + part["sections"]
            if not part["text"]:
                break  # it was replaced meanwhile by a shorter one
        return _record(Document, told | {"text": text, "sections": sections})

    def documents(self) -> Iterator[Document]:
        """All documents, in the order they came in."""
        return (self.document(row["id"]) for row in self._listed("documents"))

    def passages(self, document_id: str = "") -> Iterator[Passage]:
        """The passages that a document was cut into; without an id, those of all documents."""
        return (_record(Passage, row) for row in self._listed("passages", document=document_id))

    def stats(self) -> dict[str, Any]:
        """What the index holds, as the server tells it."""
        told: dict[str, Any] = self._call("/index")
        return told

    def _listed(self, of: str, **filters: str) -> Iterator[dict[str, Any]]:
        offset, more = 0, True
        while more:
            page = self._call("/discover", {"of": of, "offset": offset, "size": _PAGE, **filters})
            yield from page[of]
            offset, more = offset + len(page[of]), page["more"]

    def _call(self, path: str, query: Mapping[str, object] | None = None, body: object = None) -> Any:
        given = {name: value for name, value in (query or {}).items() if value not in ("", None, [])}
        address = self._base + path + ("?" + urlencode(given, doseq=True) if given else "")
        data = None if body is None else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        try:
            with _OPENER.open(Request(address, data, self._headers | kind), timeout=self._timeout) as response:
                return json.load(response)
        except HTTPError as error:
            raise _problem(error) from None
        except (URLError, OSError, ValueError) as error:
            why = getattr(error, "reason", None) or error
            raise EngineError(
                f"no answer from {self._base}: {why}", "is `sparc-search serve` running there?"
            ) from error


def _problem(answer: HTTPError) -> SparcSearchError:
    """The error that a server tells of."""
    with answer:
        try:
            told = json.load(answer)["error"]
            message, remedy = str(told["message"]), str(told.get("remedy", ""))
        except (ValueError, KeyError, TypeError):
            message, remedy = (
                f"the server answered {answer.code} {answer.reason}",
                "is it sparc-search that answers there?",
            )
    return _ERRORS.get(answer.code, EngineError)(message, remedy)


def _reply(told: Mapping[str, Any]) -> Reply:
    """A reply; parts that were not asked for one by one are there by kind, as `Index.ask` gives them."""
    answers = [
        {"parts": [{"kind": kind, "value": value} for kind, value in answer["by_kind"].items()], **answer}
        for answer in told["answers"]
    ]
    return _record(Reply, {**told, "answers": answers})


def _record(kind: type[Record], told: Mapping[str, Any]) -> Record:
    """A record from its JSON twin; what is not sent has its default."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.name in told]  # type: ignore[arg-type]
    return kind(**{name: _value(hints[name], told[name]) for name in names})


def _value(hint: Any, value: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if value is None or origin is Literal:
        return value
    if origin in (Union, types.UnionType):
        (hint,) = (inner for inner in arguments if inner is not type(None))
        return _value(hint, value)
    if origin is tuple:
        return tuple(_value(arguments[0], inner) for inner in value)
    return _record(hint, value) if dataclasses.is_dataclass(hint) and isinstance(hint, type) else value
