"""Bytes over a socket, as no HTTP library would send them, and what comes back."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 60.0
HOST: Final = b"Host: 127.0.0.1\r\n"
LAST: Final = b"Connection: close\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def exchange(port: int, pieces: Sequence[bytes], pause: float = 0.0, *, read: bool = True) -> list[Answer]:
    """Send the pieces, with pauses between them, and read until the server hangs up; none if it does so in silence."""
    received = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as opened:
            for number, piece in enumerate(pieces):
                time.sleep(pause if number else 0)
                opened.sendall(piece)
            while read and (piece := opened.recv(65536)):
                received += piece
    except (ConnectionResetError, BrokenPipeError):
        pass
    return answers(received)


def answers(received: bytes) -> list[Answer]:
    """The answers in what was received; one that is cut off does not count."""
    found = []
    while received:
        head, end, rest = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", len(rest)))
        if not end or len(rest) < length:
            break
        found.append(Answer(int(first.split()[1]), headers, rest[:length]))
        received = rest[length:]
    return found


def request(method: str, target: str, *headers: bytes, body: bytes = b"", last: bool = True) -> bytes:
    """A request; `last` asks the server to hang up after it."""
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    first = f"{method} {target} HTTP/1.1\r\n".encode("utf-8", "surrogateescape")
    return first + HOST + b"".join(headers) + length + (LAST if last else b"") + b"\r\n" + body
