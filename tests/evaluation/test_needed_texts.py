"""Every match of a pattern holds one of the texts that are said to be needed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.evaluation.needed_texts import folded, needed_texts


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("Iraq", {"iraq"}),
        ("drug abuse|heart attack", {"drug abuse", "heart attack"}),
        (r"Oct(ober)?\s*10", {"oct"}),
        (r"\b2,?[4567][0-9]\b", {"2"}),
        (r"\d+", set()),
        (r"\d+|Iraq", set()),
        (r"(?:south|north) Korea", {" korea"}),
        (r"(ab)+c", {"ab"}),
        ("", set()),
        ("Zürich See", {"rich see"}),
    ],
)
def test_the_longest_that_are_sure(pattern: str, texts: set[str]) -> None:
    assert needed_texts(pattern) == texts


ATOMS = st.sampled_from(["a", "kiss", "Is", r"\d", "(ab|K)", "(?:si)?", "(i)+", "[sk]", ".", "ß", r"\s*", "(x|)", "K"])
PATTERNS = st.lists(st.lists(ATOMS, max_size=4).map("".join), min_size=1, max_size=3).map("|".join)
TEXTS = st.text(st.sampled_from("aAbiIıİsSſkK\u212ax1 ßK"), max_size=12)


@given(PATTERNS, TEXTS)
def test_no_match_without_one(pattern: str, text: str) -> None:
    texts = needed_texts(pattern)
    if texts and re.search(pattern, text, re.IGNORECASE):
        assert any(needed in folded(text) for needed in texts)
