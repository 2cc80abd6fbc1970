from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.loaders.decode import Decoded, guessed
from sparc_search.records import Document

One, Reject = Callable[..., Document], Callable[..., str]


def test_a_text_file_is_one_document_exactly_as_it_stands(one: One) -> None:
    document = one("text", "Zürich\r\n\r\n  liegt am See.\n".encode(), "corpus/on_the_lake.txt")
    assert document == Document(
        "corpus/on_the_lake.txt", "Zürich\r\n\r\n  liegt am See.\n", "on the lake", "corpus/on_the_lake.txt"
    )


def test_a_byte_order_mark_is_no_text(one: One) -> None:
    assert one("text", b"\xef\xbb\xbfHello.").text == "Hello."


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        ("Zürich, „5 €“", "cp1252", "windows-1252"),
        ("Été à la plage, où est le garçon ? C’était déjà arrivé près d’ici. " * 9, "cp1252", "windows-1252"),
        ("Это простой текст на русском языке, и ничего больше. " * 3, "cp1251", "cp1251"),
        ("Hello, Zürich.", "utf-16", "utf-16"),
        ("Hello, this is Zürich.", "utf-16-le", "utf-16-le"),
        ("Hello.", "utf-32", "utf-32"),
        ("Zürich", "utf-8", ""),
    ],
)
def test_encodings_that_people_have_are_read_and_told(one: One, text: str, codec: str, encoding: str) -> None:
    document = one("text", text.encode(codec))
    assert document.text == text
    assert document.metadata == ({"encoding": encoding} if encoding else {})


def test_what_is_no_text_is_rejected_with_the_position(reject: Reject) -> None:
    assert "byte 0xfc at position 1" in reject("text", b"Z\xfcrich\x01\x02")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff")))
def test_utf_8_is_never_taken_for_anything_else(text: str) -> None:
    assert guessed(text.encode()) == Decoded(text)


@given(st.text(st.characters(exclude_characters="\0\ufeff"), min_size=1), st.sampled_from(["utf-16", "utf-32"]))
def test_a_mark_decides(text: str, codec: str) -> None:
    assert guessed(text.encode(codec, "replace")).text == text.encode(codec, "replace").decode(codec)


def test_a_binary_file_is_rejected_with_the_position(reject: Reject) -> None:
    assert "NUL byte at position 3" in reject("text", "ü.".encode() + b"\0\0\x01")


def test_a_file_that_is_too_large_is_not_read_to_its_end(reject: Reject) -> None:
    assert "larger than 40 MiB" in reject("text", b"x" * (41 << 20))
