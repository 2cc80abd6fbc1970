"""What all pages share: the work is done behind the gate, and the state of a page is its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from .rendering import render
from .state import state_of


async def page_response(request: Request, template: str, work: Callable[[], Mapping[str, Any]]) -> Response:
    """A page made of what `work` finds."""
    html = await state_of(request).gate.run(lambda: render(template, **work()))
    return HTMLResponse(html)
