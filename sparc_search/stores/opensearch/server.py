"""The one door to a server: connections, errors in this package's words, and the one place where things are retried."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...errors import EngineError
from .access import ServerAccess
from .dialects import recognise
from .failures import Passing, described
from .nodes import Ask, Nodes, Unreachable

TIMEOUT: Final = 60.0
"""Seconds that one request may take."""

CONNECTIONS: Final = 8
_READING: Final = ("/_search", "/_msearch", "/_mget")
"""Ends of paths to which a POST only reads."""

_LOGGERS: Final = ("opensearch", "opensearchpy.trace", "urllib3")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long something that fails for the moment is tried again."""

    seconds: float
    longest_wait: float = 10.0


ONCE: Final = Patience(0)
READING: Final = Patience(30, 2)
LOADING: Final = Patience(300, 20)
"""A node that is restarted is back within this."""


def retried(patience: Patience, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives; while it raises `Passing`, it is called again for as long as the patience lasts."""
    from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

    # Full jitter: many clients that were turned away together do not come back together.
    retrying = Retrying(
        retry=retry_if_exception_type(Passing),
        wait=wait_random_exponential(multiplier=0.2, max=patience.longest_wait),
        stop=stop_after_delay(patience.seconds),
        sleep=time.sleep,
        reraise=True,
    )
    return retrying(function, *arguments)


class Server:
    """A server or cluster. Safe to use from several threads."""

    def __init__(self, access: ServerAccess) -> None:
        self.shown = access.shown
        self._clients = [_connect(access, url) for url in access.urls]
        self.nodes = len(self._clients)
        self._nodes = Nodes(self.nodes)
        try:
            self.dialect, self.version = recognise(self.request("GET", "/", patience=ONCE), self.shown)
        except BaseException:
            self.close()
            raise

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, object] | None = None,
        *,
        patience: Patience = READING,
    ) -> Any:
        """The answer, as JSON; None to a GET or DELETE of what is not there. What passes is tried again."""
        return retried(patience, self.send, method, path, body, params)

    def document(self, path: str, params: Mapping[str, object] | None = None, *, patience: Patience = READING) -> Any:
        """A document with its `_source` and what else the server says of it; None if it is not there."""
        answer = self.request("GET", path, params=params, patience=patience)
        return answer if answer and answer.get("found") else None

    def send(self, method: str, path: str, body: Any = None, params: Mapping[str, object] | None = None) -> Any:
        """One request, tried once, on whichever node can be reached; the first answer, if it only reads."""

        def ask(client: Any) -> Ask:
            return lambda near: self._send(client, method, path, *_addressed(path, body, params or {}, near=near))

        asks = [ask(client) for client in self._clients]
        if len(asks) == 1:
            return asks[0](False)
        reads = method == "GET" or path.endswith(_READING)
        return self._nodes.first_to_answer(asks) if reads else self._nodes.one_after_the_other(asks)

    def _send(self, client: Any, method: str, path: str, body: Any, params: dict[str, object]) -> Any:
        from opensearchpy import exceptions

        try:
            return client.transport.perform_request(method, path, params=params, body=body)
        except exceptions.SSLError as error:
            raise EngineError(
                f"no trusted connection to {self.shown}: {_cause(error)}",
                "use an https address, and set ca_file to the certificate of the authority that signed the server's",
            ) from error
        except exceptions.ConnectionTimeout as error:
            raise Passing(f"{self.shown} did not answer in {TIMEOUT:.0f} s", "see whether it is overloaded") from error
        except exceptions.ConnectionError as error:
            raise Unreachable(
                f"cannot reach {self.shown}: {_cause(error)}",
                "start it (`sparc-search opensearch start`), or set `url`",
            ) from error
        except exceptions.TransportError as error:
            if error.status_code == 404 and method in ("GET", "DELETE"):
                return None
            raise described(int(error.status_code), error.info or error.error, self.shown) from error
        except exceptions.SerializationError as error:
            raise EngineError(f"{self.shown} answered something that is no JSON", "is `url` the right one?") from error

    def close(self) -> None:
        """Let go of connections."""
        for client in self._clients:
            client.close()


def _addressed(path: str, body: Any, params: Mapping[str, object], *, near: bool) -> tuple[Any, dict[str, object]]:
    """Body and parameters; with `near`, for a copy on the node that is asked, where a request can say so."""
    if near and path.endswith("/_msearch"):  # it says so for each search, in the line above it
        lines = str(body).split("\n")
        lines[:-1:2] = [f'{{"preference":"_local",{line[1:]}' for line in lines[:-1:2]]
        return "\n".join(lines), dict(params)
    if near and (path.endswith(_READING) or "/_doc/" in path):
        return body, {**params, "preference": "_local"}
    return body, dict(params)


def _connect(access: ServerAccess, url: str) -> Any:
    try:
        from opensearchpy import OpenSearch
    except ImportError as error:
        raise EngineError("the package opensearch-py is not installed", "pip install opensearch-py") from error
    for name in _LOGGERS:  # they write addresses at INFO, and bodies at DEBUG
        logging.getLogger(name).setLevel(logging.ERROR)
    # Said here, so that no variable of the environment makes the client ask for a version that a server refuses.
    more: dict[str, Any] = {"headers": {"accept": "application/json"}}
    if access.user:
        more["http_auth"] = (access.user, access.password)
    if access.api_key:
        # A scheme of its own may be given: `Bearer …`.
        more["headers"]["Authorization"] = access.api_key if " " in access.api_key else f"ApiKey {access.api_key}"
    if access.ca_file:
        more["ca_certs"] = access.ca_file
    return OpenSearch([url], max_retries=0, retry_on_timeout=False, timeout=TIMEOUT, pool_maxsize=CONNECTIONS, **more)


def _cause(error: Any) -> str:
    """The innermost reason; the outer ones only repeat the address."""
    inner = getattr(error, "info", error)
    while getattr(inner, "reason", None) is not None:
        inner = inner.reason
    text = str(inner)
    return text.rpartition(": ")[2] if "object at 0x" in text else text
