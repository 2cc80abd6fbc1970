"""A pause between two writes, for whoever copies an index: asked for beside the lease, and kept by the writer.

Before each change a writer looks whether somebody has asked. If so it says that it keeps the pause, and waits until
the request is taken back or has run out; a writer that has nothing to do says so when it renews its lease. Whoever
asked goes on when the writer has said so, or when there is none: one that comes later looks before its first change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Final
from uuid import uuid4

from ...errors import IndexLocked, SparcSearchError
from .failures import Conflict
from .server import LOADING, Server
from .state import Stamp, stamp_of

SECONDS: Final = 60.0
"""How long a request lasts unless it is renewed."""
_POLL: Final = 0.2
_LONGEST: Final = 600.0
"""Seconds that a change may take before the pause begins."""


@dataclass(frozen=True, slots=True)
class _Request:
    owner: str
    until: float
    kept_by: str = ""


def keep(server: Server, control: str, writer: str) -> None:
    """Wait for as long as somebody wants a pause; `writer` is the owner of the lease."""
    while is_kept(server, control, writer):
        time.sleep(_POLL)


def is_kept(server: Server, control: str, writer: str) -> bool:
    """Whether somebody wants a pause. It is told that this writer keeps it: no change may be under way here."""
    request, stamp = _read(server, control)
    if request is None or time.time() > request.until:
        return False
    if request.kept_by != writer:
        with suppress(Conflict):  # it was renewed or taken back just now
            _write(server, control, replace(request, kept_by=writer), stamp)
    return True


@contextmanager
def quiet(server: Server, control: str, writer: Callable[[], str]) -> Iterator[Callable[[], object]]:
    """Nobody writes while the context lasts, if what it gives is called now and then; `writer` says who would."""
    me, deadline = uuid4().hex, time.monotonic() + _LONGEST
    _renew(server, control, me)
    try:
        while (now := writer()) and _renew(server, control, me).kept_by != now:
            if time.monotonic() > deadline:
                raise IndexLocked(
                    f"the writer of the index on {server.shown} makes no pause", "try again when it is done"
                )
            time.sleep(_POLL)
        yield lambda: _renew(server, control, me)
    finally:
        with suppress(SparcSearchError):  # then it runs out
            server.request("DELETE", _path(control))


def _renew(server: Server, control: str, me: str) -> _Request:
    """Ask for it, or for more of it. An answer to our own request may have been lost, so it is read first."""
    while True:
        request, stamp = _read(server, control)
        if request is not None and request.owner != me and time.time() <= request.until:
            raise IndexLocked(f"somebody else copies this index on {server.shown}", "wait until that is done")
        kept_by = request.kept_by if request is not None and request.owner == me else ""
        renewed = _Request(me, time.time() + SECONDS, kept_by)
        with suppress(Conflict):
            _write(server, control, renewed, stamp)
            return renewed


def _read(server: Server, control: str) -> tuple[_Request | None, Stamp | None]:
    found = server.document(_path(control), patience=LOADING)
    return (_Request(**found["_source"]["body"]), stamp_of(found)) if found else (None, None)


def _write(server: Server, control: str, request: _Request, stamp: Stamp | None) -> None:
    body = {"kind": "pause", "body": asdict(request)}
    params: dict[str, object] = stamp.condition if stamp else {"op_type": "create"}
    server.request("PUT", _path(control), body, params, patience=LOADING)


def _path(control: str) -> str:
    return f"/{control}/_doc/pause"
