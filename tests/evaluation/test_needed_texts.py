"""Every match of a pattern holds one of the texts that are said to be needed."""

from __future__ import annotations

import re
import string
import sys

import pytest
from hypothesis import example, given
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


EVERY_CHARACTER = "".join(map(chr, range(sys.maxunicode + 1)))


@pytest.mark.parametrize("letter", string.ascii_letters)
def test_whatever_matches_a_letter_folds_to_it(letter: str) -> None:
    same = re.findall(letter, EVERY_CHARACTER, re.IGNORECASE)
    assert len(same) >= 2
    assert {folded(character) for character in same} == {letter.lower()}


ATOMS = st.sampled_from(["a", "kiss", "Is", r"\d", "(ab|K)", "(?:si)?", "(i)+", "[sk]", ".", "ß", r"\s*", "(x|)", "K"])
PATTERNS = st.lists(st.lists(ATOMS, max_size=4).map("".join), min_size=1, max_size=3).map("|".join)
TEXTS = st.text(st.sampled_from("aAbiIıİsSſkK\u212ax1 ßK"), max_size=12)


@given(PATTERNS, TEXTS)
@example("Is", "\u0130S")
@example("Is", "\u0131S")
def test_no_match_without_one(pattern: str, text: str) -> None:
    texts = needed_texts(pattern)
    if texts and re.search(pattern, text, re.IGNORECASE):
        assert any(needed in folded(text) for needed in texts)
