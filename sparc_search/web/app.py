"""The application: routes, and the layers around them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from sparc_search.errors import SparcSearchError
from sparc_search.index import Index

from . import (
    api,
    ask_page,
    discover_page,
    downloads,
    feature_page,
    feedback,
    health,
    index_page,
    login,
    openapi,
    passage_page,
    why_page,
)
from .brake import Brake
from .limits import Gate, WebLimits
from .mcp import Lifespan, mcp_route
from .metrics import Counting, Metrics, metrics
from .openapi import V1
from .presence import Presence
from .problems import HttpProblem, problem_of
from .rendering import STATIC, static_version
from .replies import problem_response
from .security import Guard, SecurityHeaders, known_hosts, one_length, only_hosts, only_with_token, own_site, wants_page
from .state import AppState

log = logging.getLogger("sparc_search.web")

OLD_API: Final = (
    ("/ask", api.ask, ["GET", "POST"]),
    ("/question", api.question, ["GET"]),
    ("/passages/{id:path}", api.passage, ["GET"]),
    ("/features/{name:path}", api.feature, ["GET"]),
    ("/index", api.index, ["GET"]),
    ("/discover", api.discover, ["GET"]),
    ("/discover/download.csv", downloads.as_csv, ["GET"]),
    ("/discover/download.json", downloads.as_json, ["GET"]),
    ("/suggest", api.suggest, ["GET"]),
    ("/score", api.score, ["GET"]),
    ("/why", api.why, ["GET"]),
)
"""What was there before paths had a version: it answers at either."""
NEW_API: Final = (
    ("/complete", api.complete, ["GET"]),
    ("/try", api.any_text, ["POST"]),
    ("/search", api.search, ["GET"]),
    ("/documents/{id:path}", api.document, ["GET"]),
)

ROUTES: tuple[BaseRoute, ...] = (
    Route("/", ask_page.page),
    Route("/passages/{id:path}", passage_page.page),
    Route("/try", passage_page.any_text, methods=["GET", "POST"]),
    Route("/feedback", feedback.take, methods=["POST"]),
    Route("/features", feature_page.start),
    Route("/features/{name:path}", feature_page.page),
    Route("/index", index_page.page),
    Route("/discover", discover_page.page),
    Route("/why", why_page.page),
    Route("/login", login.login, methods=["GET", "POST"]),
    Route("/logout", login.leave, methods=["POST"]),
    *(Route(prefix + path, handler, methods=methods) for prefix in ("/api", V1) for path, handler, methods in OLD_API),
    *(Route(V1 + path, handler, methods=methods) for path, handler, methods in NEW_API),
    Route("/openapi.json", openapi.document),
    Route("/healthz", health.healthz),
    Route("/readyz", health.readyz),
    Route("/metrics", metrics),
)


class VersionedFiles(StaticFiles):
    """Static files. An address with a version in it changes with its file, so browsers may keep what they got."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One file."""
        version, _, name = path.partition("/")
        response = await super().get_response(name or version, scope)
        versioned = version == static_version() and response.status_code < HTTPStatus.BAD_REQUEST
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if versioned else "no-cache"
        return response


def create_app(
    index: Index,
    *,
    limits: WebLimits | None = None,
    token: str = "",
    host: str = "127.0.0.1",
    allowed_hosts: Collection[str] = (),
    with_metrics: bool = False,
    with_mcp: bool = False,
    also: Mapping[str, Index] | None = None,
    feedback_file: Path | None = None,
) -> Starlette:
    """An application that answers from an open index; `also` are others that it can be put beside, by name."""
    limits = limits or WebLimits()
    gate = Gate(limits)
    counters = Metrics(gate) if with_metrics else None
    brake = Brake(limits.login_tries)
    own_host = only_hosts(known_hosts(host, allowed_hosts))
    layers = [Middleware(SecurityHeaders), Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)]
    layers += [Middleware(Guard, refuse) for refuse in (one_length, own_host, own_site)]
    layers += [Middleware(Presence)]
    layers += [Middleware(Guard, only_with_token(token, brake))] if token else []
    layers += [Middleware(Counting, metrics=counters)] if counters else []
    further = mcp_route(index, gate, limits) if with_mcp else None
    failures = (HttpProblem, SparcSearchError, HTTPException, Exception)
    shared = AppState(
        index,
        limits,
        gate,
        token,
        brake,
        counters,
        also or {},
        feedback.Feedback(feedback_file) if feedback_file else None,
    )
    app = Starlette(
        lifespan=_together(shared.watch.running, *([further.lifespan] if further else [])),
        routes=[*ROUTES, *([further.route] if further else []), Mount("/static", VersionedFiles(directory=STATIC))],
        middleware=layers,
        exception_handlers=dict.fromkeys(failures, _answer),
    )
    app.router.redirect_slashes = False
    app.state.shared = shared
    return app


def _together(*lifespans: Lifespan) -> Lifespan:
    """All that runs for as long as the application does."""

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for lifespan in lifespans:
                await stack.enter_async_context(lifespan(app))
            yield

    return running


async def _answer(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s %s failed", request.method, request.scope.get("route"), exc_info=error)
    return problem_response(problem, page=wants_page(request))
