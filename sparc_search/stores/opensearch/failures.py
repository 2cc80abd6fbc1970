"""What goes wrong on a server, in this package's words: what passes by itself, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...errors import DiskFull, EngineError, IndexNotFound, SparcSearchError

PASSING: Final = frozenset({429, 502, 503, 504})
"""Status codes that say: not now."""

_FLOOD: Final = ("flood-stage", "flood stage", "read-only-allow-delete", "read_only_allow_delete")


class Passing(EngineError):
    """Something that may be over in a moment, so it is tried again."""


class Refused(EngineError):
    """An answer that no waiting changes."""

    def __init__(self, message: str, remedy: str = "", status: int = 0, kind: str = "") -> None:
        super().__init__(message, remedy)
        self.status, self.kind = status, kind

    def __reduce__(self) -> tuple[type[Refused], tuple[str, str, int, str]]:
        return type(self), (self.message, self.remedy, self.status, self.kind)


class Conflict(EngineError):
    """A write that was to happen only if nobody else had written."""


def described(status: int, error: object, where: str) -> SparcSearchError:
    """The error for an answer that is no success; `error` is its body, or the `error` object of one item in it."""
    kind, reason = kind_and_reason(error)
    if kind == "cluster_block_exception":
        return blocked(reason, where)
    if kind == "index_not_found_exception":
        return vanished(reason, where)
    if kind == "index_create_block_exception":
        return EngineError(
            f"{where} lets nobody make a new index: {reason}",
            "servers do that when their disks are almost full: make room there (or lift cluster.blocks.create_index), "
            "then run the same command again",
        )
    if status in PASSING:
        return Passing(f"{where} is too busy or not ready ({status}): {reason}", "try again later")
    if status == 409:
        return Conflict(f"{where}: somebody else has written: {reason}", "try again")
    if status == 401:
        message = f"{where} does not know who we are (401)"
        remedy = "set SPARC_SEARCH_USER and SPARC_SEARCH_PASSWORD, or SPARC_SEARCH_API_KEY"
    elif status == 403:
        message = f"{where} does not allow this (403): {reason}"
        remedy = "give the user the role that docs/opensearch.md describes"
    else:
        message, remedy = f"{where} answered {status}: {kind}: {reason}", "see the log of the server"
    return Refused(message, remedy, status, kind)


def vanished(reason: str, where: str) -> IndexNotFound:
    """The error for a version of which a part is not there any more: somebody has deleted it on the server."""
    return IndexNotFound(
        f"a part of the index is not on {where} any more: {reason}",
        "make it anew with `sparc-search ingest --rebuild PATH`, or bring the part back from a snapshot",
    )


def blocked(reason: str, where: str) -> SparcSearchError:
    """The error for an index that may not be written to."""
    if any(word in reason for word in _FLOOD):
        return DiskFull(
            f"the disk of {where} is almost full, so it takes no more documents: {reason}",
            "make room there (and lift the block), then run the same command again; what was done is kept",
        )
    if "/503/" in reason or "SERVICE_UNAVAILABLE" in reason:  # no elected manager yet, or a state not recovered
        return Passing(f"{where} is not ready: {reason}", "try again later")
    return EngineError(
        f"{where} lets nobody write to the index: {reason}",
        "lift the block (index.blocks.write, cluster.blocks.read_only), then run the same command again",
    )


def kind_and_reason(error: object) -> tuple[str, str]:
    """Type and reason of an error as servers write it."""
    if not isinstance(error, Mapping):
        return "error", str(error)[:1000]
    inner: Any = error.get("error", error)
    if not isinstance(inner, Mapping):
        return "error", str(inner)[:1000]
    reason, cause = str(inner.get("reason", "")), inner.get("caused_by")
    if isinstance(cause, Mapping) and cause.get("reason"):
        reason = f"{reason}: {cause['reason']}"
    return str(inner.get("type", "error")), reason[:1000]
