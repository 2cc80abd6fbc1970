from __future__ import annotations

import pytest

from sparc_search.stores.standard_words import holds, standard_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The well-known Eiger.", ["the", "well", "known", "eiger"]),
        ("can't 3.14 1,000 U.S. snake_case --force", ["can't", "3.14", "1,000", "u.s", "snake_case", "force"]),
        ("_ ' % …", []),
        ("山の上 カタカナ", ["山", "の", "上", "カタカナ"]),
        ("E\u0301cole Grüße", ["e\u0301cole", "grüße"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert standard_words(text) == words


def test_what_a_text_holds() -> None:
    assert holds("Snow on the Eiger", "eig", 0)
    assert holds("Snow on the Eiger", "eiger sno", 0)
    assert not holds("Snow on the Eiger", "iger", 0)
    assert holds("Snow on the Eiger", "the eiger", 1)
    assert not holds("Snow on the Eiger", "snow the", 1)
    assert not holds(None, "a", 0)
