from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from sparc_search.loaders.lines import lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\0\ufeff", codec="utf-8"), max_size=8)))
def test_lines_are_those_of_the_file(texts: list[str]) -> None:
    data = "\n".join(texts).encode()
    found = list(lines(io.BytesIO(data)))
    assert "".join(line.text for line in found) == "\n".join(texts)
    for line in found:
        assert data[line.position :].startswith(line.text.encode())


def test_a_line_of_the_longest_length_is_read_and_a_longer_one_is_not() -> None:
    found = list(lines(io.BytesIO(b"12345678\n123456789\nabc"), limit=8))
    assert [(line.number, line.position, line.text) for line in found] == [
        (1, 0, "12345678\n"),
        (2, 9, ""),
        (3, 19, "abc"),
    ]
    assert found[1].problem
    assert "line 2 has 10 bytes" in found[1].problem.message


def test_a_long_last_line_without_end() -> None:
    (found,) = lines(io.BytesIO(b"x" * 100), limit=8)
    assert found.problem
    assert "100 bytes" in found.problem.message


def test_a_byte_order_mark_is_only_one_at_the_beginning() -> None:
    first, second = lines(io.BytesIO(b"\xef\xbb\xbfa\n\xef\xbb\xbfb"))
    assert (first.text, second.text) == ("a\n", "\ufeffb")
