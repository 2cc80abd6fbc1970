"""How much one request may ask for, and how many are worked on at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from .problems import Problem

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is taken; what is above is refused with a typed error."""

    question: int = 1000
    """Characters of a question, a phrase or a name."""
    answers: int = 50
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
    waiting: int = 64
    """Requests that may wait for it; one more gets 503."""
    retry_after: int = 1
    """Seconds after which one who was sent away may come again."""


class Gate:
    """Lets some work run, some wait, and sends the rest away at once: a busy server answers, it does not pile up."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._limiter: CapacityLimiter | None = None
        self.inside = 0
        """Requests that run or wait."""
        self.refused = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do some work in a thread; `Problem` 503 if too many wait already."""
        if self.inside >= self._limits.running + self._limits.waiting:
            self.refused += 1
            raise Problem(
                503,
                "busy",
                "too many requests at once",
                "try again in a moment",
                headers={"Retry-After": str(self._limits.retry_after)},
            )
        self.inside += 1
        try:
            return await to_thread.run_sync(work, limiter=self._workers())
        finally:
            self.inside -= 1

    def _workers(self) -> CapacityLimiter:
        if self._limiter is None:  # belongs to the event loop, so it is made inside one
            self._limiter = CapacityLimiter(self._limits.running)
        return self._limiter


async def read_body(request: Request, most: int) -> bytes:
    """The body, which is never read further than the limit."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise Problem(413, "too_large", f"the body has more than {most:,} bytes", "send fewer questions at once")
    return bytes(body)
