"""Is whoever asked still there? Nothing is computed for a client that hung up while it waited for its turn."""

from __future__ import annotations

from contextvars import ContextVar

from anyio import CancelScope
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import HttpProblem

_RECEIVE: ContextVar[Receive | None] = ContextVar("receive", default=None)


class Presence:
    """Remembers, for the request that is handled, where its client would say goodbye."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        _RECEIVE.set(receive)
        await self._app(scope, receive, send)


async def has_gone() -> bool:
    """Whether the client of this request has hung up. To be asked when its body was read, if it has one."""
    receive = _RECEIVE.get()
    message: Message = {"type": "http.request"}
    while receive and message["type"] == "http.request":
        message = {"type": "nothing more"}
        with CancelScope() as now:
            now.cancel()  # what is not there already is not waited for
            message = await receive()
    return bool(message["type"] == "http.disconnect")


def gone() -> HttpProblem:
    """An answer that nobody will read."""
    return HttpProblem(499, "gone", "the client has gone")
