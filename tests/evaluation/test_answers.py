"""EM and F1 follow the definition of the SQuAD v1.1 script; the expected values were worked out by hand from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.evaluation.answers import exact_match, f1, normalise


@pytest.mark.parametrize(
    ("answer", "normal"),
    [
        ("The Golden  Gate", "golden gate"),
        ("an  A.B.C. test!", "abc test"),
        ("Anthem of a theatre", "anthem of theatre"),  # articles only as whole words
        ("the-end", "theend"),  # punctuation goes before articles do
        ("a", ""),
        ("$2,300", "2300"),
        ("Beyoncé’s", "beyoncé’s"),  # only ASCII punctuation is removed
        ("\tÉCOLE\n des \u00a0Beaux", "école des beaux"),
        ("", ""),
    ],
)
def test_normalise(answer: str, normal: str) -> None:
    assert normalise(answer) == normal


@pytest.mark.parametrize(
    ("found", "right", "em", "overlap"),
    [
        ("the Normans", ["Normans"], 1.0, 1.0),
        ("in Normandy", ["Normandy", "France"], 0.0, 2 / 3),
        ("10th and 11th", ["10th and 11th centuries"], 0.0, 6 / 7),
        ("one one two", ["one two two"], 0.0, 2 / 3),
        ("nothing", ["else"], 0.0, 0.0),
        ("", ["word"], 0.0, 0.0),
        ("the", ["a"], 1.0, 0.0),  # both are empty once normalised: equal, but without a word in common
        ("word", [], 0.0, 0.0),
    ],
)
def test_the_best_of_the_right_answers_counts(found: str, right: list[str], em: float, overlap: float) -> None:
    assert exact_match(found, right) == em
    assert f1(found, right) == pytest.approx(overlap)


@given(st.text(), st.lists(st.text(), min_size=1))
def test_bounds(found: str, right: list[str]) -> None:
    assert exact_match(found, right) in {0.0, 1.0}
    assert 0 <= f1(found, right) <= 1
    assert f1(found, [found, *right]) in {1.0, 0.0 if not normalise(found) else 1.0}
