"""Who may ask: only by known Host names (against DNS rebinding), only with the token where there is one, no other site.

Layers are plain ASGI, outermost first: headers, lengths, hosts, sites, token.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .brake import Brake
from .problems import HttpProblem, come_again
from .replies import problem_response

log = logging.getLogger("sparc_search.web")

COOKIE: Final = "sparc_search_session"
SHORTEST_TOKEN: Final = 16
OPEN_PATHS: Final = frozenset(("/healthz", "/readyz", "/login"))
"""What is answered without the token; static files too."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_OWN_SITE: Final = frozenset(("same-origin", "none"))


class SecurityHeaders:
    """Puts the headers on every answer, errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


Refuse = Callable[[Request], Response | None]
"""Looks at a request, and answers it if it must go no further."""


class Guard:
    """Lets a request through unless it is refused."""

    def __init__(self, app: ASGIApp, refuse: Refuse) -> None:
        self._app = app
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        refusal = self._refuse(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


def one_length(request: Request) -> Response | None:
    """Refuse a request that tells its length in two ways, or chunks of a version that has none, and hang up.

    A proxy in front may have believed the other one; what it took for a body would be the next request here.
    """
    headers = request.headers
    if "transfer-encoding" not in headers:
        return None
    if "content-length" not in headers and request.scope["http_version"] != "1.0":
        return None
    message, remedy = "the request tells its length in two ways", "send Content-Length or Transfer-Encoding"
    return _refused(HttpProblem(400, "two_lengths", message, remedy, headers={"Connection": "close"}))


def only_hosts(hosts: Collection[str]) -> Refuse:
    """Refuse a request whose Host is not on the list: a stranger's name that points here is no name of ours."""
    known = frozenset(host.lower().strip("[]") for host in hosts)

    def refuse(request: Request) -> Response | None:
        values = request.headers.getlist("host")
        match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
        if match and (match["v6"] or match["name"]).lower() in known:
            return None
        message = "this server does not answer to that name"
        return _refused(HttpProblem(421, "unknown_host", message, "see --allow-host"))

    return refuse


def own_site(request: Request) -> Response | None:
    """Refuse what another site makes a browser send, except that a link to a page may be followed."""
    if _is_ours(request.method, request.headers):
        return None
    message, remedy = "another site may not use this server", "open it in a tab of its own"
    return _refused(HttpProblem(403, "other_site", message, remedy))


def _is_ours(method: str, headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OWN_SITE:
        link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return link and method in ("GET", "HEAD")
    origin = headers.get("origin")  # a browser too old for Sec-Fetch-Site still tells where a form comes from
    return origin is None or origin.partition("://")[2] == headers.get("host")


def only_with_token(token: str, brake: Brake) -> Refuse:
    """Refuse who lacks the token: `Authorization: Bearer …`, or the cookie that the login page gives for it."""

    def refuse(request: Request) -> Response | None:
        path = request.scope["path"]  # as routes see it; an address put together from Host and path may differ
        if path in OPEN_PATHS or path.startswith("/static/"):
            return None
        if same_token(request.cookies.get(COOKIE, ""), session_of(token)):  # too long to be guessed: no brake
            return None
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            problem = wrong_token(request, brake, given.strip(), token)
            return _refused(problem) if problem else None
        return RedirectResponse(_login_for(request), 303) if wants_page(request) else _refused(_no_token())

    return refuse


def _login_for(request: Request) -> str:
    """The login page, which leads back to what was asked for."""
    query = request.scope["query_string"].decode("latin-1")
    asked = quote(request.scope["path"]) + (f"?{query}" if query else "")
    return "/login" if asked == "/" or request.method != "GET" else f"/login?{urlencode({'next': asked})}"


def _refused(problem: HttpProblem) -> Response:
    return problem_response(problem, page=False)


def wrong_token(request: Request, brake: Brake, given: str, expected: str) -> HttpProblem | None:
    """What is wrong with a token that was given, if anything; after many wrong ones it is not even looked at."""
    address = request.client.host if request.client else ""
    seconds = brake.seconds(address)
    if seconds:
        log.warning("too many wrong tokens from %s: no more of them are looked at for a while", address)
        return come_again(429, "too_many_tries", "too many wrong tokens came from your address", seconds)
    if same_token(given, expected):
        return None
    brake.wrong(address)
    return _no_token()


def _no_token() -> HttpProblem:
    message, remedy = "this server needs its token", "send it as `Authorization: Bearer …`"
    return HttpProblem(401, "no_token", message, remedy, headers={"WWW-Authenticate": "Bearer"})


def same_token(given: str, expected: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell how nearly."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def session_of(token: str) -> str:
    """What the browser keeps instead of the token; a new token makes it worthless."""
    return hmac.new(token.encode(), b"sparc-search session", hashlib.sha256).hexdigest()


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page."""
    return not request.scope["path"].startswith("/api/") and "text/html" in request.headers.get("accept", "")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server there."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def known_hosts(host: str, further: Iterable[str]) -> frozenset[str]:
    """The names a server bound to `host` answers to; of an address that means "any" only the loopback names."""
    names = {"localhost", "127.0.0.1", "::1", *further}
    return frozenset(names if host in ("0.0.0.0", "::", "") else names | {host})
