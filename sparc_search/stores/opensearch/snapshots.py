"""Backups on a server: one of its snapshots, taken while nobody writes, and restored as a new version of the index.

A server copies each shard at a moment of its own. So the writer is asked for a pause (`pause.py`), and afterwards the
numbers of the last writes must be those from before: then all shards were copied in one state.
"""

from __future__ import annotations

import re
import time
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from ...errors import IndexDamaged, IndexFailure, IndexNotFound, UsageError
from . import lifecycle, pause
from .engine import OpenSearchEngine, take_lease
from .failures import Refused
from .lease import Lease, holder_of
from .names import FORMAT, OLDEST, Version, writing
from .options import Options
from .server import LOADING, ONCE, Server
from .state import ServerState, read_state, write_state
from .verify import verify

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_ABOUT: Final = "docs/opensearch.md#snapshots says how a repository is made, and who may use it"
_POLL: Final = 0.2


# --- making one ------------------------------------------------------------------------------------------------------


def back_up(server: Server, options: Options, lease: Lease | None, target: Path) -> dict[str, object]:
    """Make the snapshot REPOSITORY/NAME of what is served; what was copied. The lease is our own, if we may write."""
    path, control = _path(target), options.names.control
    lifecycle.ensure_control(server, options.names)

    def writer() -> str:
        holder = holder_of(server, control)
        return "" if lease and holder == lease.owner else holder

    with lease.turn if lease else nullcontext(), pause.quiet(server, control, writer) as go_on:
        state, _ = read_state(server, options.names.documents)
        before = _last_writes(server, state.version)
        indices = ",".join((*state.version.indices, control))
        body = {"indices": indices, "include_global_state": False}
        _ask(server, "PUT", path, body)
        while (done := _snapshot(server, path))["state"] == "IN_PROGRESS":
            go_on()
            time.sleep(_POLL)
        same = before == _last_writes(server, state.version)
    if done["state"] != "SUCCESS" or done["shards"]["failed"] or not same:
        server.request("DELETE", path)
        why = "somebody wrote meanwhile" if not same else f"the server says {done['state']}"
        raise IndexFailure(f"the snapshot {target} is not whole, and was deleted: {why}", "run the same command again")
    return _facts(state)


def _last_writes(server: Server, version: Version) -> dict[tuple[str, str], int]:
    """The number of the last write to each shard."""
    found = server.request("GET", f"/{','.join(version.indices)}/_stats/docs", params={"level": "shards"})
    return {
        (index, shard): int(copy["seq_no"]["max_seq_no"])
        for index, stats in found["indices"].items()
        for shard, copies in stats["shards"].items()
        for copy in copies
        if copy["routing"]["primary"]
    }


# --- bringing one back -----------------------------------------------------------------------------------------------


def restore(options: Options, source: Path, *, replacing: bool) -> dict[str, object]:
    """Restore a snapshot as a new version, verify it, and let it be served; what was served is the version before."""
    path = _path(source)
    with closing(Server(options.access)) as server:
        saved = _saved(_snapshot(server, path), source)
        lease = take_lease(server, options)
        try:
            _refuse_if_served(server, options, replacing=replacing)
            identity = uuid4().hex
            version = options.names.version(identity)
            try:
                state = _restored(server, path, saved, version, identity)
                _check(server, options, version, source)
                lifecycle.publish(server, options.names, version)
            except BaseException:
                for index in version.indices:
                    server.request("DELETE", f"/{index}")
                raise
        finally:
            lease.release()
    return _facts(state)


def _saved(snapshot: Any, source: Path) -> Version:
    """The version that a snapshot holds."""
    made = re.compile(rf".+-[{OLDEST}-{FORMAT}]-\d{{8}}t\d{{6}}-[0-9a-f]{{8}}")
    found = [Version(name) for name in snapshot["indices"] if made.fullmatch(name)]
    whole = [version for version in found if version.documents in snapshot["indices"]]
    if len(whole) != 1 or snapshot["state"] != "SUCCESS":
        raise IndexFailure(
            f"the snapshot {source} holds {len(whole)} whole versions of an index, not one ({snapshot['state']})",
            "take one that `sparc-search index backup` made; others are for the server: docs/opensearch.md#snapshots",
        )
    return whole[0]


def _refuse_if_served(server: Server, options: Options, *, replacing: bool) -> None:
    try:
        lifecycle.served(server, options.names)
    except IndexNotFound:
        return
    if not replacing:
        raise UsageError(
            f"there is an index {options.names.passages!r} on {server.shown}",
            "name another with SPARC_SEARCH_INDEX_NAME, or say --replace",
        )


def _restored(server: Server, path: str, saved: Version, version: Version, identity: str) -> ServerState:
    """Let the server restore the indices under new names, as a version of its own that is not served yet."""
    names = {"rename_pattern": saved.passages, "rename_replacement": version.passages}
    body = {"indices": ",".join(saved.indices), "include_global_state": False, "include_aliases": False, **names}
    answer = _ask(server, "POST", f"{path}/_restore", body, {"wait_for_completion": "true", "request_timeout": 3600})
    meta = lifecycle.meta_of(server, version)
    if meta is None or answer["snapshot"]["shards"]["failed"]:
        raise IndexDamaged(f"{server.shown} could not restore all of {path}", "take another; nothing has been changed")
    lifecycle.describe(server, version, replace(meta, identity=identity, complete=False))
    actions = [{"add": {"index": index, "alias": writing(index)}} for index in version.indices]
    server.request("POST", "/_aliases", {"actions": actions}, patience=LOADING)
    state, stamp = read_state(server, version.documents, LOADING)
    state = replace(state, identity=identity, passages_index=version.passages)
    write_state(server, writing(version.documents), state, stamp)
    server.request("POST", f"/{','.join(version.indices)}/_refresh", patience=LOADING)
    return state


def _check(server: Server, options: Options, version: Version, source: Path) -> None:
    with OpenSearchEngine(server, options, "", building=version).view() as view:
        for problem in verify(view).problems:
            raise IndexDamaged(
                f"the snapshot {source} is not whole: {problem.where}: {problem.what}",
                "take another; nothing has been changed",
            )


# --- both ------------------------------------------------------------------------------------------------------------


def _facts(state: ServerState) -> dict[str, object]:
    return {name: getattr(state, name) for name in ("generation", "documents", "passages", "words")}


def _path(place: Path) -> str:
    if len(place.parts) != 2 or not all(_NAME.fullmatch(part) for part in place.parts):
        raise UsageError(
            f"{str(place)!r} names no snapshot", f"say REPOSITORY/NAME, in small letters and digits; {_ABOUT}"
        )
    return f"/_snapshot/{'/'.join(place.parts)}"


def _snapshot(server: Server, path: str) -> Any:
    found = server.request("GET", path)
    if not found:
        raise UsageError(f"there is no snapshot {path.removeprefix('/_snapshot/')} on {server.shown}", _ABOUT)
    return found["snapshots"][0]


def _ask(server: Server, method: str, path: str, body: Any, params: dict[str, object] | None = None) -> Any:
    try:
        return server.request(method, path, body, params, patience=ONCE)
    except Refused as error:
        raise Refused(error.message, _ABOUT, error.status, error.kind) from error
