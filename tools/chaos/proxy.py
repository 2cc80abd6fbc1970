"""A proxy before a search server, on this machine, that lets some requests or answers get lost."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

FAULTS: Final = ("too busy", "request lost", "answer lost", "answer cut")
SHARE: Final = 0.3
"""Of the requests, while there is a fault."""
BUSY: Final = b'{"error":{"type":"es_rejected_execution_exception","reason":"by the proxy"},"status":429}'
SILENCE: Final = "silence"
"""A fault of its own: nothing is passed on or answered while it lasts, as on the other side of a partition."""
_OWN: Final = frozenset(("connection", "transfer-encoding", "content-length", "host", "keep-alive"))


class Proxy:
    """Passes requests on. While `fault` names one, so many of them meet it."""

    def __init__(self, url: str, seed: object) -> None:
        self.target = str(urlsplit(url).netloc)
        self.fault, self.share = "", SHARE
        self.met: Counter[str] = Counter()
        self._chance, self._lock = random.Random(str(seed)), threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    self.raw_requestline = self.rfile.readline(65537)
                    understood = bool(self.raw_requestline) and self.parse_request()
                except OSError:  # the client has gone
                    understood = False
                if understood:
                    proxy.handle(self)
                else:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """It is quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        """In a thread, for as long as the context lasts."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """One request."""
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        fault = self._fault()
        while fault == self.fault == SILENCE:
            time.sleep(0.05)
        if fault in ("request lost", SILENCE):
            request.close_connection = True
        elif fault == "too busy":
            self._answer(request, 429, {"content-type": "application/json"}, BUSY)
        else:
            self._pass_on(request, body, fault)

    def _fault(self) -> str:
        with self._lock:
            fault = self.fault if self._chance.random() < self.share else ""
            self.met[fault] += bool(fault)
        return fault

    def _pass_on(self, request: BaseHTTPRequestHandler, body: bytes, fault: str) -> None:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
        connection = http.client.HTTPConnection(self.target, timeout=120)
        try:
            connection.request(request.command, request.path, body or None, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            request.close_connection = True
            return
        finally:
            connection.close()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in _OWN}
        if fault == "answer lost":
            request.close_connection = True
        else:
            self._answer(request, answer.status, kept, data, cut=fault == "answer cut")

    def _answer(
        self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], data: bytes, *, cut: bool = False
    ) -> None:
        try:
            request.send_response_only(status)
            for name, value in headers.items():
                request.send_header(name, value)
            request.send_header("content-length", str(len(data)))
            request.end_headers()
            if request.command != "HEAD":
                request.wfile.write(data[: len(data) // 2] if cut else data)
        except OSError:
            request.close_connection = True
        request.close_connection = request.close_connection or cut
