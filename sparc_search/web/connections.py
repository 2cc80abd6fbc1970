"""Connections: how many there are, and how long each may keep the server waiting.

At every moment either the server owes a connection an answer, or the connection owes the server something: a request,
the rest of its body, or to read what was sent. Who owes too long is closed. When all places are taken, the one that has
owed longest makes room for the next, so a thousand half-open requests keep nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from typing import Any, Final, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sparc_search.errors import UsageError

log = logging.getLogger("sparc_search.web")

RESERVE: Final = 40
"""File handles that are left for the index: files of two generations, a database for each worker."""
LEAST: Final = 8
_PATIENCE_WITH_READERS: Final = 3
"""How many times as long somebody may take to read as to send: answers are larger than questions."""
_LATE: Final = 0.1
"""By how much of the limit this process may be late itself before the client gets the whole time again."""

Owes = Literal["nothing", "a request", "the rest of a request", "the rest of a body", "to read its answer"]


def places(wanted: int) -> int:
    """How many connections may be open: as many as wanted, or as the file handles of this process allow."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are no file handles
        return wanted
    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if handles == resource.RLIM_INFINITY:
        return wanted
    free = handles - len(os.listdir("/dev/fd")) - RESERVE
    if free < LEAST:
        raise UsageError(
            f"this process may open {handles} files only, which leaves none for connections",
            "allow more: `ulimit -n 1024`",
        )
    return min(wanted, free)


class Connection(H11Protocol):
    """One connection. Made by `connections`, which says how many there may be and how long they may take."""

    most: int
    seconds: float
    _owes: Owes = "nothing"
    _since = 0.0
    _begun = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it owes a request."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """A part of a request, or more than one."""
        if self.transport.is_closing():  # sent away: nothing it says is listened to
            return
        self._begun = True
        super().data_received(data)
        self._look()

    def send_400_response(self, msg: str) -> None:
        """What comes is no request, or not any more: say so if nothing else was said yet, and hang up.

        An application that already works at it has nobody left to answer.
        """
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """The answer is written; the next request is awaited."""
        self._begun = False
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """It has caught up."""
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or was sent away."""
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    @property
    def owes(self) -> Owes:
        """What the client owes us now."""
        if self.cycle is None or self.cycle.response_complete:
            return "the rest of a request" if self._begun else "a request"
        if self.cycle.more_body:
            return "the rest of a body"
        return "to read its answer" if self.flow.write_paused else "nothing"

    def _look(self) -> None:
        """See whether something else is owed now, and since when."""
        owes = self.owes
        if owes == self._owes or self.transport.is_closing():
            return
        if self._timer:
            self._timer.cancel()
        self._owes, self._since, self._timer = owes, self.loop.time(), None
        if owes != "nothing":
            self._wait()

    def _wait(self) -> None:
        patience = _PATIENCE_WITH_READERS if self._owes == "to read its answer" else 1
        self._timer = self.loop.call_later(self.seconds * patience, self._too_slow)

    def _too_slow(self) -> None:
        assert self._timer
        if self.loop.time() > self._timer.when() + self.seconds * _LATE:  # it was us who did not listen meanwhile
            self._wait()
            return
        if self._owes != "a request":  # one that never began asking is closed without a word, as an idle one is
            log.warning("closed a connection that owed %s for too long", self._owes)
        self._close()

    def _make_room(self) -> None:
        owing = [other for other in self.connections if isinstance(other, Connection) and other._may_go(self)]
        if owing:
            log.warning("all %d places for connections are taken: closed who kept us waiting longest", self.most)
            min(owing, key=lambda other: other._since)._close()
        else:
            log.warning("all %d places for connections are taken by requests: sent a new one away", self.most)
            self._say(b"503 Service Unavailable", b"Retry-After: 1\r\n")
            self.transport.close()

    def _may_go(self, newcomer: Connection) -> bool:
        return self is not newcomer and self._owes != "nothing" and not self.transport.is_closing()

    def _close(self) -> None:
        """Say why to whom a request was begun and no answer yet, and hang up; who does not read is not waited for."""
        if self._begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._say(b"408 Request Timeout")
        if self.flow.write_paused:
            self.transport.abort()
        else:
            self.transport.close()

    def _say(self, status: bytes, header: bytes = b"") -> None:
        self.transport.write(b"HTTP/1.1 %b\r\n%bConnection: close\r\nContent-Length: 0\r\n\r\n" % (status, header))


def connections(most: int, seconds: float) -> type[Connection]:
    """The kind of connection of one server."""
    return type("LimitedConnection", (Connection,), {"most": most, "seconds": seconds})


class Door(socket.socket):
    """A listening socket that stays usable when file handles run out.

    The event loop would stop accepting for a second and log a traceback for every connection that waits. Here a handle
    kept in reserve takes the connection, which is closed at once.
    """

    QUEUE: Final = 1024

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)

    def listen(self, backlog: int = QUEUE) -> None:
        """Listen with our own queue: the loop's number is also how many it accepts before it does anything else."""
        super().listen(max(backlog, self.QUEUE))

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; `ConnectionAbortedError` if there was one and no handle for it."""
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            log.warning("no file handle is free for a new connection: it was closed. Allow more: `ulimit -n`")
            if not self._turn_away():
                raise
            raise ConnectionAbortedError from error

    def close(self) -> None:
        """Stop listening."""
        self._free()
        super().close()

    def _turn_away(self) -> bool:
        if self._spare is None:
            return False
        self._free()
        with contextlib.suppress(OSError):  # the client may have gone
            super().accept()[0].close()
        with contextlib.suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)
        return True

    def _free(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
