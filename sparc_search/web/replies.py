"""Answers of the server: pages, JSON that is strict, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from .problems import HttpProblem, page_remedy
from .rendering import render
from .state import state_of


class StrictJSON(JSONResponse):
    """JSON in ASCII: what could turn text around or hide in it is escaped, whoever prints it."""

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


async def page_response(request: Request, template: str, work: Callable[[], Mapping[str, Any]]) -> Response:
    """A page made of what `work` finds, which is done behind the gate.

    A field that cannot be read is told beside it, and the page is answered without it: that is 200, and no line in the
    browser's console. What cannot be answered at all is an exception, and has its status.
    """
    state = state_of(request)
    more = {"locked": bool(state.token), "feedback": state.feedback is not None}
    return HTMLResponse(await state.run(lambda: render(template, **more, **work())))


def problem_response(problem: HttpProblem, *, page: bool) -> Response:
    """An error as JSON, or as a page for people."""
    if not page:
        return StrictJSON(problem.as_json(), problem.status, problem.headers)
    return HTMLResponse(
        render("error.html", problem=problem, remedy=page_remedy(problem), page="error"),
        problem.status,
        problem.headers,
    )


def cut_long(value: Any, most: int) -> Any:
    """The same JSON value, in which no string is longer than `most`; a longer one ends in `…`."""
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, dict):
        return {cut_long(key, most): cut_long(inner, most) for key, inner in value.items()}
    if isinstance(value, list):
        return [cut_long(inner, most) for inner in value]
    return value
