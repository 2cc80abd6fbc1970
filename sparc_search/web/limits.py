"""How much one request may ask for, and how many are worked on at once."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from anyio import CapacityLimiter, Semaphore, fail_after, to_thread
from starlette.requests import ClientDisconnect, Request

from .presence import gone, has_gone
from .problems import HttpProblem, come_again

Result = TypeVar("Result")
MOST_SECONDS: Final = 60
"""Nobody is told to come again later than this."""


@dataclass(frozen=True, slots=True)
class WebLimits:
    """The most that is taken; what is above is refused with a typed error."""

    question: int = 1000
    """Characters of a question, a phrase or a name."""
    answers: int = 50
    read: int = 20
    batch: int = 64
    """Questions of one POST."""
    filters: int = 20
    body: int = 256 * 1024
    """Bytes of a request's body."""
    string: int = 20_000
    """Characters of one string in an answer; a longer one is cut."""
    rows: int = 200
    """Rows of one page of a listing."""
    download: int = 100_000
    """Rows of one file."""
    running: int = 4
    """Requests worked on at once."""
    waiting: int = 256
    """Requests that may wait for it; one more gets 503."""
    queue_seconds: float = 30.0
    """How long each of them waits at most."""
    connections: int = 500
    request_seconds: float = 20.0
    """How long a request may take to arrive."""
    login_tries: int = 10
    """Wrong tokens from one address before it has to wait; 0 is no brake."""


class Gate:
    """Lets some work run and some wait, first come first served, and sends the rest away with a time to come again."""

    def __init__(self, limits: WebLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._turns: Semaphore | None = None
        self._threads: CapacityLimiter | None = None
        self._seconds = 0.05
        """What one piece of work takes, by the last few."""
        self._promised: deque[float] = deque(maxlen=10_000)
        """When those who were sent away may come again."""
        self.inside = 0
        """Requests that run or wait."""
        self.refused = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do some work in a thread; `HttpProblem` 503 if too many wait already, or the wait is too long."""
        if self.inside >= self._limits.running + self._limits.waiting:
            raise self._busy()
        turns, threads = self._workers()
        self.inside += 1
        try:
            await self._turn(turns)
            try:
                return await self._timed(work, threads)
            finally:
                turns.release()
        finally:
            self.inside -= 1

    async def _turn(self, turns: Semaphore) -> None:
        try:
            with fail_after(self._limits.queue_seconds):
                await turns.acquire()
        except TimeoutError:
            raise self._busy() from None
        if await has_gone():
            turns.release()
            raise gone()

    async def _timed(self, work: Callable[[], Result], threads: CapacityLimiter) -> Result:
        began = self._clock()
        try:
            return await to_thread.run_sync(work, limiter=threads)
        finally:
            self._seconds += (self._clock() - began - self._seconds) / 8

    def _busy(self) -> HttpProblem:
        """Sent away until those inside, and those who were told to come before, have had their turn."""
        self.refused += 1
        now = self._clock()
        while self._promised and self._promised[0] <= now:
            self._promised.popleft()
        ahead = self.inside + len(self._promised)
        seconds = min(MOST_SECONDS, math.ceil(ahead * self._seconds / self._limits.running) or 1)
        self._promised.append(now + seconds)
        return come_again(503, "busy", "too many requests at once", seconds)

    def _workers(self) -> tuple[Semaphore, CapacityLimiter]:
        if self._turns is None or self._threads is None:  # they belong to the event loop, so they are made inside one
            self._turns, self._threads = Semaphore(self._limits.running), CapacityLimiter(self._limits.running)
        return self._turns, self._threads


async def read_body(request: Request, most: int) -> bytes:
    """The body, which is never read further than the limit."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                message = f"the body has more than {most:,} bytes"
                raise HttpProblem(413, "too_large", message, "send fewer questions at once")
    except ClientDisconnect:
        raise gone() from None
    return bytes(body)
