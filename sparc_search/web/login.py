"""The page that takes the token from people; a browser then keeps a cookie made from it."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .limits import read_body
from .rendering import render
from .security import COOKIE, session_of, wrong_token
from .state import state_of

_MOST = 4096


async def login(request: Request) -> Response:
    """`/login`."""
    return await (enter(request) if request.method == "POST" else page(request))


async def page(request: Request) -> Response:
    """`GET /login`."""
    if not state_of(request).token:
        return RedirectResponse("/", 303)
    return HTMLResponse(render("login.html", page="login", wrong=False))


async def enter(request: Request) -> Response:
    """`POST /login`: the right token opens the door, anything else shows the page again."""
    token = state_of(request).token
    form = parse_qs((await read_body(request, _MOST)).decode("utf-8", "replace"))
    if not token:
        return RedirectResponse("/", 303)
    problem = wrong_token(request, state_of(request).brake, form.get("token", [""])[0].strip(), token)
    if problem and problem.status == HTTPStatus.UNAUTHORIZED:
        return HTMLResponse(render("login.html", page="login", wrong=True), 401)
    if problem:
        raise problem
    response = RedirectResponse("/", 303)
    response.set_cookie(
        COOKIE, session_of(token), httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return response
