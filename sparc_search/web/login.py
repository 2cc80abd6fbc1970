"""The page that takes the token from people; a browser then keeps a cookie made from it."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .limits import read_body
from .rendering import render
from .security import COOKIE, session_of, wants_page, wrong_token
from .state import state_of

_MOST = 4096


async def login(request: Request) -> Response:
    """`/login`."""
    return await (enter(request) if request.method == "POST" else page(request))


async def page(request: Request) -> Response:
    """`GET /login`."""
    goal = local(request.query_params.get("next", ""))
    if not state_of(request).token:
        return RedirectResponse(goal, 303)
    return HTMLResponse(render("login.html", page="login", wrong=False, goal=goal))


def local(address: str) -> str:
    """An address of this server's own pages; the front page for any other."""
    plain = address.startswith("/") and not address.startswith(("//", "/login", "/logout")) and "\\" not in address
    return address if plain and address.isprintable() and len(address) <= _MOST else "/"


async def leave(request: Request) -> Response:
    """`POST /logout`: the browser forgets the cookie."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return response


async def enter(request: Request) -> Response:
    """`POST /login`: the right token opens the door, any other shows people the page again, and programs a 401."""
    token = state_of(request).token
    form = parse_qs((await read_body(request, _MOST)).decode("utf-8", "replace"))
    goal = local(form.get("next", [""])[0])
    if not token:
        return RedirectResponse(goal, 303)
    problem = wrong_token(request, state_of(request).brake, form.get("token", [""])[0].strip(), token)
    if problem and problem.status == HTTPStatus.UNAUTHORIZED and wants_page(request):
        return HTMLResponse(render("login.html", page="login", wrong=True, goal=goal))
    if problem:
        raise problem
    response = RedirectResponse(goal, 303)
    response.set_cookie(COOKIE, session_of(token), httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return response
