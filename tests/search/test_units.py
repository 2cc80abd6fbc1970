"""Phrases taken up to the unit that holds them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.records import UNITS, Answer, Passage, Unit
from sparc_search.search.candidates import FoundAnswer
from sparc_search.search.units import Chosen, choose, in_unit
from sparc_search.sentences import sentence_around

TEXT = "One is 1. Two is 2 and 3.\n\nFour is 4."
PASSAGES = [Passage(f"p{number}", f"d{number // 2}", number, TEXT) for number in range(4)]


def phrases(*found: tuple[str, int]) -> Iterator[FoundAnswer]:
    """Answers of falling scores: a text, and the number of its passage."""
    for rank, (text, number) in enumerate(found):
        start = TEXT.index(text)
        answer = Answer(text, 9.0 - rank, PASSAGES[number], start, start + len(text), ("sparse",), ())
        yield FoundAnswer(answer, None)  # type: ignore[arg-type]


def texts(chosen: Chosen) -> list[str]:
    return [found.answer.text for found in chosen.shown]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("phrase", ["2", "3", "1", "4", "2"]),
        ("sentence", ["Two is 2 and 3.", "One is 1.", "Four is 4.", "Two is 2 and 3."]),
        ("passage", [TEXT, TEXT]),
        ("document", [TEXT]),
    ],
)
def test_every_unit_stands_once(unit: Unit, expected: list[str]) -> None:
    found = phrases(("2", 0), ("3", 0), ("1", 0), ("4", 0), ("2", 1))
    assert texts(choose(found, 9, unit, merge=False, rival=False)) == expected


def test_a_unit_scores_what_its_best_phrase_does() -> None:
    first, second = choose(phrases(("2", 0), ("3", 0), ("1", 2)), 2, "passage", merge=False, rival=False).shown
    assert (first.answer.score, second.answer.score) == (9.0, 7.0)
    assert first.answer.phrase is not None
    assert first.answer.phrase.text == "2"


def test_answers_that_say_the_same_are_one() -> None:
    chosen = choose(phrases(("2", 0), ("2", 1), ("1", 0), ("2", 3), ("3", 1)), 2, "phrase", merge=True, rival=False)
    assert texts(chosen) == ["2", "1"]
    best = chosen.shown[0].answer
    assert [place.passage.id for place in best.others] == ["p1", "p3"]
    assert best.documents == 2


def test_copies_of_a_document_are_one() -> None:
    """PASSAGES of two documents say the same at the same place: only their texts tell whether they are copies."""
    for copies, expected in ((lambda one, other: True, 1), (lambda one, other: False, 2), (None, 2)):
        chosen = choose(phrases(("2", 0), ("1", 2)), 9, "document", merge=True, rival=False, copies=copies)
        assert len(chosen.shown) == expected
    (both,) = choose(phrases(("2", 0), ("1", 2)), 9, "document", merge=True, rival=False, copies=lambda *_: True).shown
    assert [place.passage.document_id for place in both.answer.others] == ["d1"]


def test_the_rival_says_something_else_whatever_the_unit() -> None:
    for unit in UNITS:
        found = phrases(("2", 0), ("2", 1), ("3", 0))
        assert choose(found, 1, unit, merge=False, rival=True).rival == 7.0
    assert choose(phrases(("2", 0), ("3", 0)), 1, "phrase", merge=False, rival=False).rival is None


def test_no_more_is_read_than_is_needed() -> None:
    found = phrases(("2", 0), ("3", 0), ("1", 0))
    choose(found, 1, "phrase", merge=False, rival=False)
    assert next(found).answer.text == "3"


def test_sentences_end_at_joints() -> None:
    text = "no full stop\nanother line. And more"
    assert sentence_around(text, 3, 7, joints=[13]) == (0, 12)
    assert sentence_around(text, 14, 20, joints=[13]) == (13, 26)


@given(st.text(alphabet="ab .!\n", min_size=1, max_size=40), st.data())
def test_a_sentence_holds_its_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    begin, finish = sentence_around(text, start, end)
    assert 0 <= begin <= start < end <= finish <= len(text)
    answer = in_unit(Answer(text[start:end], 0.0, Passage("p", "d", 0, text), start, end, (), ()), "sentence")
    assert answer.text == text[begin:finish]
    assert answer.scored.text in answer.text
