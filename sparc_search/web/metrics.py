"""Counters for Prometheus, for those who want them (`serve --metrics`)."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparc_search.errors import MissingExtra

from .limits import Gate
from .problems import HttpProblem
from .state import state_of

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The counters of one application, in a registry of their own."""

    def __init__(self, gate: Gate) -> None:
        try:
            import prometheus_client as prometheus
        except ImportError as error:
            raise MissingExtra("--metrics", "metrics") from error
        self._registry = prometheus.CollectorRegistry()
        self._render = prometheus.generate_latest
        self.content_type = prometheus.CONTENT_TYPE_LATEST
        names = ("route", "method", "status")
        self._requests = prometheus.Counter(
            "sparc_search_requests", "Requests answered.", names, registry=self._registry
        )
        self._seconds = prometheus.Histogram(
            "sparc_search_request_seconds", "Time to answer.", ("route",), registry=self._registry, buckets=_BUCKETS
        )
        inside = prometheus.Gauge("sparc_search_inside", "Requests that run or wait.", registry=self._registry)
        inside.set_function(lambda: gate.inside)
        refused = prometheus.Gauge("sparc_search_refused", "Requests sent away since start.", registry=self._registry)
        refused.set_function(lambda: gate.refused)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. The route is one of ours, never what someone typed: labels stay few."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        rendered = self._render(self._registry)
        assert isinstance(rendered, bytes)
        return rendered


class Counting:
    """Counts every request that gets as far as a route."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            route = scope.get("route")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            self._metrics.count(getattr(route, "path", "none"), method, status, time.perf_counter() - began)


async def metrics(request: Request) -> Response:
    """`GET /metrics`."""
    counters = state_of(request).metrics
    if counters is None:
        raise HttpProblem(404, "not_found", "metrics are off", "start the server with --metrics")
    return Response(counters.text(), media_type=counters.content_type)
