"""Reading all of an index, page by page, in the order of a sort key; and several documents by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .answers import missing, whole
from .bodies import Record, read_record
from .names import key
from .queries import every
from .server import READING, Patience, Server
from .state import ServerState

_AT_ONCE: Final = 500
"""Documents asked for in one request."""


def pages(
    server: Server,
    index: str,
    query: Mapping[str, Any],
    *,
    sort: Sequence[str | dict[str, str]] = ("id",),
    size: int = 1_000,
    source: Any = False,
    stored: Sequence[str] = (),
    lacks: list[str] | None = None,
) -> Iterator[list[dict[str, Any]]]:
    """Hits that match, so many at a time; each has its `sort` values.

    A scan with a hole is `Incomplete`, unless there is a list for what it lacks.
    """
    body: dict[str, Any] = {
        "query": query,
        "size": size,
        "sort": [{key: "asc"} if isinstance(key, str) else key for key in sort],
        "_source": source,
        "track_total_hits": False,
    }
    if stored:
        body["stored_fields"] = list(stored)
    while True:
        answer = server.request("POST", f"/{index}/_search", body)
        if lacks is None:
            whole(answer, server.shown)
        else:
            lacks += missing(answer, server.shown)
        hits = answer["hits"]["hits"]
        if hits:
            yield hits
        if len(hits) < size:
            return
        body["search_after"] = hits[-1]["sort"]


def records(server: Server, state: ServerState, *conditions: Mapping[str, Any], size: int) -> Iterator[Record]:
    """The records of all documents that fit, by id, so many read at a time."""
    query = every({"term": {"kind": "document"}}, *conditions)
    for page in pages(server, state.version.documents, query, size=size, source=True):
        yield from (read_record(hit["_source"]) for hit in page)


def by_ids(
    server: Server,
    index: str,
    ids: Sequence[str],
    params: Mapping[str, object] | None = None,
    patience: Patience = READING,
) -> Iterator[Any]:
    """What the server says to each id, in that order."""
    for begin in range(0, len(ids), _AT_ONCE):
        body = {"ids": [key(id) for id in ids[begin : begin + _AT_ONCE]]}
        yield from server.request("POST", f"/{index}/_mget", body, params, patience=patience)["docs"]
