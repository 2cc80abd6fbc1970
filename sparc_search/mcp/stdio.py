"""One client over standard input and output: a message a line, until the input ends.

What is no message is answered with an error of the protocol; a line that is too long is not kept in memory.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

import anyio
from anyio import AsyncFile, CapacityLimiter, to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from ..errors import EngineError
from .messages import lines, refusal

log = logging.getLogger("sparc_search.mcp")

Result = TypeVar("Result")
_CHUNK: Final = 64 * 1024
_AHEAD: Final = 16
"""Lines that are read before they are wanted."""
_RUNNING, _WAITING = 4, 256


class Turns:
    """Does some work in threads, a few at once; too many that wait are sent away."""

    def __init__(self) -> None:
        self._threads: CapacityLimiter | None = None
        self._inside = 0

    async def run(self, work: Callable[[], Result], /) -> Result:
        """Do it when it is its turn."""
        if self._inside >= _RUNNING + _WAITING:
            raise EngineError("too many requests at once", "wait for answers before you send more")
        self._threads = self._threads or CapacityLimiter(_RUNNING)
        self._inside += 1
        try:
            return await to_thread.run_sync(work, limiter=self._threads)
        finally:
            self._inside -= 1


def serve_stdio(make: Callable[[Turns], Server[Any]]) -> None:
    """Serve until the client closes its end, or reads no more, or Ctrl-C: being told to stop is no failure."""
    try:
        anyio.run(_serve, make)
    except* (KeyboardInterrupt, BrokenPipeError, anyio.BrokenResourceError):
        log.debug("the client has gone, or Ctrl-C")


async def _serve(make: Callable[[Turns], Server[Any]]) -> None:
    server = make(Turns())
    lines = _Lines()
    async with stdio_server(stdin=cast(AsyncFile[str], lines)) as (incoming, outgoing):
        lines.answer = outgoing.send
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Lines:
    """The messages that come in, one a line; what is none is answered here."""

    answer: Callable[[SessionMessage], Awaitable[None]]

    async def __aiter__(self) -> AsyncIterator[str]:
        send, receive = anyio.create_memory_object_stream[bytes | None](math.inf)
        room = threading.Semaphore(_AHEAD)
        loop = asyncio.get_running_loop()

        def read() -> None:
            with suppress(RuntimeError):  # the server has ended meanwhile
                for line in lines(iter(lambda: os.read(sys.stdin.fileno(), _CHUNK), b"")):
                    room.acquire()
                    loop.call_soon_threadsafe(send.send_nowait, line)
                loop.call_soon_threadsafe(send.close)

        # One of the event loop's threads would keep the process alive for as long as it waits for input.
        threading.Thread(target=read, daemon=True).start()
        async for line in receive:
            room.release()
            if line is not None and not line.strip():
                continue  # it says nothing, and gets no answer
            error = refusal(line)
            if error is not None:
                await self.answer(SessionMessage(error))
            elif line is not None:
                yield line.decode("utf-8")
