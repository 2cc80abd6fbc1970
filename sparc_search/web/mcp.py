"""The Model Context Protocol at /mcp: the same tools as `sparc-search mcp`, behind the server's own doors.

Each message is one POST with one answer; nothing is kept between two of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import NamedTuple, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparc_search.errors import EngineError, MissingExtra
from sparc_search.index import Index

from .limits import Gate, WebLimits, read_body
from .problems import HttpProblem
from .replies import StrictJSON

Result = TypeVar("Result")
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


class McpRoute(NamedTuple):
    """A route, and what must run for as long as the application does."""

    route: Route
    lifespan: Lifespan


def mcp_route(index: Index, gate: Gate, limits: WebLimits) -> McpRoute:
    """The route, and what must run for as long as the application does."""
    try:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from sparc_search.mcp.server import create_server
    except ImportError as error:
        raise MissingExtra("--mcp", "mcp") from error
    from sparc_search.mcp.asking import Asking
    from sparc_search.mcp.indexes import Indexes, named_folder
    from sparc_search.mcp.messages import refusal
    from sparc_search.mcp.tools import ToolLimits

    async def run(work: Callable[[], Result], /) -> Result:
        try:
            return await gate.run(lambda: index.following(work))
        except HttpProblem as problem:  # too many are inside: the protocol has words of its own for that
            raise EngineError(problem.message, problem.remedy) from None

    name, _ = named_folder(str(index.settings.index))
    bounds = ToolLimits(limits.question, limits.answers, limits.filters, limits.string, limits.rows)
    server = create_server(Asking(Indexes({name: index})), run, bounds)
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=limits.body
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    async def endpoint(request: Request) -> Response:
        try:
            body: bytes | None = await read_body(request, limits.body)
        except HttpProblem as problem:
            if problem.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise
            body = None
        error = refusal(body, limits.body)
        if error is not None:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if body is None else HTTPStatus.BAD_REQUEST
            return StrictJSON(error.model_dump(by_alias=True, exclude_unset=True), status)
        return _Handed(sessions.handle_request, body or b"")

    return McpRoute(Route("/mcp", endpoint, methods=["POST"]), lifespan)


class _Handed(Response):
    """A request whose body has been read already, handed to somebody who reads it again."""

    def __init__(self, app: ASGIApp, body: bytes) -> None:
        super().__init__()
        self._app = app
        self._messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand it on."""

        async def again() -> Message:
            return next(self._messages, None) or await receive()

        await self._app(scope, again, send)
