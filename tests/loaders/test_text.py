from __future__ import annotations

from collections.abc import Callable

from sparc_search.records import Document

One, Reject = Callable[..., Document], Callable[..., str]


def test_a_text_file_is_one_document_exactly_as_it_stands(one: One) -> None:
    document = one("text", "Zürich\r\n\r\n  liegt am See.\n".encode(), "corpus/on_the_lake.txt")
    assert document == Document(
        "corpus/on_the_lake.txt", "Zürich\r\n\r\n  liegt am See.\n", "on the lake", "corpus/on_the_lake.txt"
    )


def test_a_byte_order_mark_is_no_text(one: One) -> None:
    assert one("text", b"\xef\xbb\xbfHello.").text == "Hello."


def test_latin_1_is_rejected_with_the_position(reject: Reject) -> None:
    assert "byte 0xfc at position 1" in reject("text", "Zürich".encode("latin-1"))


def test_utf_16_is_named(reject: Reject) -> None:
    assert "UTF-16" in reject("text", "Hello".encode("utf-16"))


def test_a_binary_file_is_rejected_with_the_position(reject: Reject) -> None:
    assert "NUL byte at position 3" in reject("text", "ü.".encode() + b"\0\0\x01")


def test_a_file_that_is_too_large_is_not_read_to_its_end(reject: Reject) -> None:
    assert "larger than 40 MiB" in reject("text", b"x" * (41 << 20))
