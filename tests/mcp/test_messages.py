"""What comes in over a pipe: lines, however they are cut into pieces, and none that fills the memory."""

from __future__ import annotations

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.mcp.messages import lines, refusal

PIECES = st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\r", b"\n")), max_size=12)


@given(PIECES, st.integers(1, 8))
def test_lines_are_those_of_the_whole(pieces: list[bytes], longest: int) -> None:
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    expected = expected if expected[-1] else expected[:-1]
    assert list(lines(pieces, longest)) == [line if len(line) <= longest else None for line in expected]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"nonsense", types.PARSE_ERROR),
        (b"\xff\xfe", types.PARSE_ERROR),
        (b'{"jsonrpc": "2.0", "id": 1', types.PARSE_ERROR),
        (b"[" * 100_000, types.PARSE_ERROR),
        (b"{}", types.INVALID_REQUEST),
        (b"[]", types.INVALID_REQUEST),
        (b"7", types.INVALID_REQUEST),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', types.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": {}, "method": 7}', types.INVALID_REQUEST),
        (None, types.INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_refused_in_the_form_of_the_protocol(message: bytes | None, code: int) -> None:
    error = refusal(message)
    assert error is not None
    assert error.model_dump(by_alias=True)["id"] is None
    assert error.error.code == code
    assert len(error.error.message) < 100


def test_a_message_is_let_through() -> None:
    assert refusal(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}') is None
