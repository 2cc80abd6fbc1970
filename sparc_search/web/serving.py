"""A socket and a server: bound before anything is told, and closed only after the last answer."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from sparc_search.errors import UsageError

from .connections import Door, connections, places
from .limits import WebLimits
from .seldom import seldom

GRACE = 30
"""Seconds that running requests get when the server is told to stop."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes any that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = Door(family, socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"there is no address {host!r}: {error.strerror}", "give another --host") from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen()
    except (OSError, OverflowError) as error:
        opened.close()
        why = getattr(error, "strerror", "") or error
        raise UsageError(f"cannot listen at {host} port {port}: {why}", "give another --port") from error
    return opened


def address_of(listening: socket.socket) -> str:
    """What to type into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def fitted(limits: WebLimits) -> WebLimits:
    """The limits, as far as this process can keep them; half of its connections may wait, so others get through."""
    most = places(limits.connections)
    return replace(limits, connections=most, waiting=min(limits.waiting, max(most // 2 - limits.running, 0)))


def serve(app: ASGIApp, listening: socket.socket, limits: WebLimits) -> None:
    """Answer until told to stop (Ctrl-C, SIGTERM); requests that run are answered first."""
    server = uvicorn.Server(configuration(app, limits))
    with _stopped_quietly(server), seldom():
        server.run(sockets=[listening])


def configuration(app: ASGIApp, limits: WebLimits, grace: int = GRACE) -> uvicorn.Config:
    """How the server is set up."""
    return uvicorn.Config(
        app,
        http=connections(limits.connections, limits.request_seconds),
        loop="asyncio",  # another would accept connections past the door
        backlog=1,  # accepted at once; the door has a queue of its own
        ws="none",
        log_config=None,
        access_log=False,  # addresses hold questions
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=grace,
    )


@contextlib.contextmanager
def _stopped_quietly(server: uvicorn.Server) -> Iterator[None]:
    """Being told to stop is no failure, before the server listens for it (it begins to stop then) or after.

    It sends itself the signal again that stopped it, when it has given back the handlers of these.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
