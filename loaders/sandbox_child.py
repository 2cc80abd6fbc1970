"""The child of `sandbox`: takes open files, one at a time, and sends back the documents in them.

python -m sparc_search.loaders.sandbox_child SOCKET MEMORY_BYTES
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from typing import Any, Final

from sparc_search import plugins
from sparc_search.records import Document

from .compressed import decompressed
from .frames import item_to_json, pack, unpack
from .resuming import items_of

_REQUEST_BYTES: Final = 1 << 20
_OPEN_FILES: Final = 64


def main(arguments: list[str]) -> None:
    """Serve until the parent closes the line."""
    line = socket.socket(fileno=int(arguments[0]))
    _limit_myself(int(arguments[1]))
    with line, suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            _serve(line, *_next_request(line))


def _limit_myself(memory: int) -> None:
    """Done here and not by the parent, before anything foreign is read."""
    _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_FSIZE, 0)  # a parser has no business writing files
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def _limit_time(seconds: float) -> None:
    """Processor time for the next document, in case the parent is no longer there to look at the clock."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 10, hard))


def _next_request(line: socket.socket) -> tuple[dict[str, Any], int]:
    data, files, _, _ = socket.recv_fds(line, _REQUEST_BYTES, 1)
    if not data:
        raise EOFError
    return unpack(data, line), files[0]


def _serve(line: socket.socket, request: dict[str, Any], file: int) -> None:
    seconds = request["seconds"]
    with os.fdopen(file, "rb") as raw:
        _limit_time(seconds)
        for item in items_of(lambda: _documents(request, raw)):
            line.sendall(pack(item_to_json(item)))
            _limit_time(seconds)
    line.sendall(pack({"end": True}))


def _documents(request: dict[str, Any], raw: BufferedReader) -> Iterator[Document]:
    reader = plugins.load("readers", request["reader"])
    return reader.read(decompressed(raw, request["source"]), request["source"], request["options"])


if __name__ == "__main__":
    main(sys.argv[1:])
