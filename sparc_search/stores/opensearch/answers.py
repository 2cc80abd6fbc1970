"""Is an answer of a server whole? What it lacks, in words; or an error, where a hole would be worse than nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import EngineError, Incomplete
from ...stored import Missing
from .failures import kind_and_reason, vanished


def missing(answer: Mapping[str, Any], where: str) -> Missing:
    """What a search lacks; nothing if it is whole.

    A shard that fails is counted as failed. One that has no copy left is not counted at all: `failed` is 0, and only
    `successful` is less than `total`. (Those that were skipped, because nothing in them can match, are successful.)
    """
    if "error" in answer:  # of one search among several
        kind, reason = kind_and_reason(answer)
        if kind == "index_not_found_exception":
            raise vanished(reason, where)
        raise EngineError(f"{where} could not search: {answer['error']}", "see the log of the server")
    found = ["the search was cut off by a time limit"] if answer.get("timed_out") else []
    shards = answer.get("_shards", {})
    total = int(shards.get("total", 0))
    lost = max(total - int(shards.get("successful", total)), int(shards.get("failed", 0)))
    if lost:
        why = _reason(failure.get("reason") for failure in shards.get("failures", ()) if isinstance(failure, Mapping))
        found.append(f"{lost} of {total} shards {'failed: ' + why if why else 'are not there'}"[:300])
    return tuple(found)


def whole(answer: Any, where: str) -> Any:
    """The answer, if nothing is missing from it: a scan with a hole is worse than none."""
    return complete(answer, missing(answer, where), where)


def complete(result: Any, lacks: Missing, where: str) -> Any:
    """The result, if nothing is missing from it; else `Incomplete`."""
    if lacks:
        raise Incomplete(f"{where} could not read everything: {lacks[0]}", "see its health, and try again")
    return result


def unread(docs: Iterable[Mapping[str, Any]], total: int) -> Missing:
    """What is missing when some of the documents that were asked for by id could not be read."""
    errors = [doc["error"] for doc in docs if "error" in doc]
    return (f"{len(errors)} of {total} passages could not be read: {_reason(errors)}"[:300],) if errors else ()


def _reason(errors: Iterable[object]) -> str:
    """The first reason in the alphabet, so that the same trouble is always told alike."""
    reasons = [str(error.get("reason") or error.get("type") or "") for error in errors if isinstance(error, Mapping)]
    return min((reason for reason in reasons if reason), default="")
