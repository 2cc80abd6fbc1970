"""What comes in before it is handed to the protocol: a message, or an error in the protocol's own form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import mcp_types as types
from pydantic import ValidationError

LONGEST: Final = 1024 * 1024
"""Bytes of a message."""


def refusal(message: bytes | None, longest: int = LONGEST) -> types.JSONRPCError | None:
    """What to answer to something that is no message (None: it was too long), if anything."""
    if message is None:
        return _error(types.INVALID_REQUEST, f"the message has more than {longest:,} bytes")
    try:
        types.jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValidationError as error:
        if any(detail["type"] == "json_invalid" for detail in error.errors(include_input=False)):
            return _error(types.PARSE_ERROR, "the message is not JSON")
        return _error(
            types.INVALID_REQUEST, "the message is not a request, a notification or a response of JSON-RPC 2.0"
        )
    return None


def _error(code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=message))


def lines(chunks: Iterable[bytes], longest: int = LONGEST) -> Iterator[bytes | None]:
    """Lines without their ends; None in the place of one that is too long, of which no more than that is ever kept."""
    rest, too_long = b"", False
    for chunk in chunks:
        *ended, last = chunk.split(b"\n")
        for part in ended:
            line, rest = rest + part, b""
            yield None if too_long or len(line) > longest else line
            too_long = False
        rest += last
        if too_long or len(rest) > longest:
            rest, too_long = b"", True
    if rest or too_long:
        yield None if too_long else rest
