"""What goes between this process and a child that parses: JSON in frames of a stated length, checked on arrival."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import astuple
from typing import Any, Final, TypeVar

from sparc_search.errors import RejectedDocument
from sparc_search.records import BLOCK_KINDS, BlockKind, Document, Section

from .resuming import Item

T = TypeVar("T")
_LENGTH: Final = 8


class FrameTooLarge(Exception):
    """The other side wants to send more than is allowed."""


def pack(message: object) -> bytes:
    """A message as it goes over the wire."""
    data = json.dumps(message).encode()
    return len(data).to_bytes(_LENGTH, "big") + data


def unpack(beginning: bytes, connection: socket.socket) -> Any:
    """A message whose beginning has been received already; the rest comes from the connection."""
    length = int.from_bytes(beginning[:_LENGTH], "big")
    rest = _exactly(connection, _LENGTH + length - len(beginning), None)
    return json.loads(beginning[_LENGTH:] + rest)


def receive(connection: socket.socket, limit: int, seconds: float | None = None) -> Any:
    """The next message. `TimeoutError` if it is not complete in time, `EOFError` if the other side has gone."""
    deadline = None if seconds is None else time.monotonic() + seconds
    length = int.from_bytes(_exactly(connection, _LENGTH, deadline), "big")
    if length > limit:
        raise FrameTooLarge(length)
    return json.loads(_exactly(connection, length, deadline))


def _exactly(connection: socket.socket, length: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < length:
        if deadline is not None:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = connection.recv(min(1 << 16, length - len(data)))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def item_to_json(item: Item) -> dict[str, Any]:
    """A document or a reject as JSON can hold it."""
    if isinstance(item, RejectedDocument):
        return {"reject": [item.message, item.remedy]}
    sections = [astuple(section) for section in item.sections]
    texts = {"id": item.id, "text": item.text, "title": item.title, "source": item.source}
    return {"document": {**texts, "metadata": dict(item.metadata), "sections": sections}}


def item_from_json(message: dict[str, Any]) -> Item:
    """The other way round. The child has read hostile bytes, so nothing it says is taken on trust."""
    if "reject" in message:
        text, remedy = message["reject"]
        return RejectedDocument(_typed(str, text), _typed(str, remedy))
    fields = message["document"]
    return Document(
        **{name: _typed(str, fields[name]) for name in ("id", "text", "title", "source")},
        metadata={_typed(str, key): _typed(str, value) for key, value in fields["metadata"].items()},
        sections=tuple(map(_section, fields["sections"])),
    )


def _section(fields: list[Any]) -> Section:
    start, heading, page, skip, kind = fields
    number = None if page is None else _natural(page)
    return Section(_natural(start), _typed(str, heading), number, _natural(skip), _kind(kind))


def _kind(value: object) -> BlockKind:
    for kind in BLOCK_KINDS:
        if value == kind:
            return kind
    raise TypeError(f"{value!r:.40} is no kind of block")


def _natural(value: object) -> int:
    number = _typed(int, value)
    if number < 0:
        raise TypeError("a negative number")
    return number


def _typed(kind: type[T], value: object) -> T:
    if type(value) is not kind:  # not isinstance: a bool is no number here
        raise TypeError(f"{value!r:.40} is not {kind}")
    return value
