"""Reading all of an index, page by page, in the order of a sort key. A scan that breaks off can go on after any key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .answers import missing, whole
from .server import Server


def pages(
    server: Server,
    index: str,
    query: Mapping[str, Any],
    *,
    sort: Sequence[str | dict[str, str]] = ("id",),
    size: int = 1_000,
    source: Any = False,
    stored: Sequence[str] = (),
    after: Sequence[Any] | None = None,
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
        if after is not None:
            body["search_after"] = list(after)
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
        after = hits[-1]["sort"]
