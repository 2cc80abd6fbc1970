"""How long sparse-first search takes on a server, beside a BM25 `match` of the same question on the same index.

Every question is asked in every way before the next one, each time in another order. `took` is what the server says,
in whole milliseconds; the rest of the time is for sending, for the answer and for reading it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sparc_search.index import Index
from sparc_search.records import EncodedQuestion, Features
from sparc_search.search import lexical
from sparc_search.search.sparse_first import sparse_query
from sparc_search.stores.opensearch import OpenSearchEngine, search
from sparc_search.stores.opensearch.server import Server
from sparc_search.stores.opensearch.view import ServerView

MATCH: Final = "`match`, ids"
SPARSE: Final = "SFS as sent, ids and scores"
LIGHT: Final = 0.1
"""A clause below this share of the heaviest of its field is light."""

PRUNED: Final = "SFS without its light clauses"
_WARM_UP: Final = 20


@dataclass
class Times:
    """Of one way to ask: seconds on the clock and milliseconds that the server tells, for each question."""

    wall: list[float] = field(default_factory=list)
    took: list[int] = field(default_factory=list)
    hits: list[list[str]] = field(default_factory=list)


Way = Callable[[int], Mapping[str, Any] | None]


def measure(index: Index, questions: Sequence[str]) -> dict[str, Times]:
    """Ask every question in every way; by name of the way."""
    engine = index.engine
    assert isinstance(engine, OpenSearchEngine)
    encoded = [one for question in questions for one in index.encoder.encode_questions([question])]
    with engine.view() as view:
        ways = _ways(index, engine.server, view, encoded)
        times = {name: Times() for name in ways}
        for number in range(min(_WARM_UP, len(questions))):
            for way in ways.values():
                way(number)
        names = list(ways)
        for number in range(len(questions)):
            for at in range(len(names)):
                name = names[(number + at) % len(names)]
                _ask(times[name], ways[name], number)
    return times


def _ask(into: Times, way: Way, number: int) -> None:
    began = time.perf_counter()
    answer = way(number)
    into.wall.append(time.perf_counter() - began)
    if answer is not None:
        into.took.append(int(answer["took"]))
        into.hits.append([hit["_id"] for hit in answer["hits"]["hits"]])


def _ways(index: Index, server: Server, view: ServerView, questions: Sequence[EncodedQuestion]) -> dict[str, Way]:
    settings = index.settings
    k, factor = settings.sparse_candidates, settings.first_stage_lex_weight
    size = k + search.MARGIN
    statistics = lexical.look_up_many(questions, view)
    queries = [sparse_query(one, lexical.lex_weights(one, statistics), factor) for one in questions]
    sent = [search.body(query, size, {}, count_hits=server.dialect.count_hits) for query in queries]
    path = f"/{view.state.passages_index}/_search"

    def asked(bodies: Sequence[Mapping[str, Any]]) -> Way:
        return lambda number: dict(server.request("POST", path, bodies[number]))

    def with_blocks(number: int) -> None:
        (found,) = view.sparse_search([queries[number]], k, {})
        view.fetch_blocks([hit.passage_id for hit in found.hits])

    def whole(number: int) -> None:
        index.ask(questions[number].text, strategy="sparse")

    match = [
        {"query": {"match": {"text": one.text}}, "size": size, "_source": False, "track_total_hits": False}
        for one in questions
    ]
    return {
        MATCH: asked(match),
        "`match`, with title and text": asked([{**body, "size": k, "_source": ["title", "text"]} for body in match]),
        SPARSE: asked(sent),
        "SFS, and the blocks fetched": with_blocks,
        "a question, sparse, with its encoding": whole,
        "SFS, ties not by id": asked([_with(body, sort=["_score"]) for body in sent]),
        "SFS, hits counted or not, the other way": asked(
            [_with(body, track_total_hits=not body["track_total_hits"]) for body in sent]
        ),
        PRUNED: asked([_with(body, query=_lighter(query)) for body, query in zip(sent, queries, strict=True)]),
        "only `lex`": asked([_with(body, query=_only_lex(query)) for body, query in zip(sent, queries, strict=True)]),
    }


def _with(body: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {**body, **more}


def without_light(query: Features) -> dict[str, dict[str, float]]:
    """A query without clauses that weigh little beside the heaviest of their field."""
    return {
        field: {name: weight for name, weight in weights.items() if weight >= LIGHT * max(weights.values())}
        for field, weights in query.items()
    }


def _lighter(query: Features) -> Any:
    return search.body(without_light(query), 0, {}, count_hits=False)["query"]


def _only_lex(query: Features) -> Any:
    return search.body({"lex": query["lex"]}, 0, {}, count_hits=False)["query"]
