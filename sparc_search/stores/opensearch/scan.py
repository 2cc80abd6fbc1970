"""Reading all of an index, page by page, in the order of a sort key. A scan that breaks off can go on after any key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...errors import EngineError
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
) -> Iterator[list[dict[str, Any]]]:
    """Hits that match, so many at a time; each has its `sort` values."""
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
        hits = complete(server.request("POST", f"/{index}/_search", body), server.shown)["hits"]["hits"]
        if hits:
            yield hits
        if len(hits) < size:
            return
        after = hits[-1]["sort"]


def complete(answer: Any, where: str) -> Any:
    """The answer, if nothing is missing from it: a scan with holes is worse than none."""
    found = missing(answer)
    if found:
        raise EngineError(f"{where} could not read everything: {found}", "see its health, and try again")
    return answer


def missing(answer: Mapping[str, Any]) -> str:
    """What an answer lacks; empty if it is whole."""
    shards = answer.get("_shards", {})
    if answer.get("timed_out"):
        return "the search was cut off by a time limit"
    failed = int(shards.get("failed", 0))
    if not failed:
        return ""
    reasons = {str(f.get("reason", {}).get("reason", "")) for f in shards.get("failures", []) if isinstance(f, dict)}
    why = f": {min(reasons)}" if reasons else ""
    return f"{failed} of {shards.get('total', '?')} shards failed{why}"[:300]


def match_all() -> dict[str, Any]:
    """Everything."""
    return {"match_all": {}}


def every(*conditions: Mapping[str, Any]) -> dict[str, Any]:
    """What fits all conditions."""
    return {"bool": {"filter": list(conditions)}} if conditions else match_all()
