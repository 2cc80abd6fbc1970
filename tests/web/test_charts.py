"""Bars add up: what is drawn is what is counted."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparc_search.records import PART_KINDS
from sparc_search.web.charts import columns, stacked, stacked_scale, two_sided
from sparc_search.web.excerpt import excerpt, marked, shortened
from sparc_search.web.rendering import number, readable, shade, signed, size

SCORES = st.fixed_dictionaries({kind: st.floats(-50, 50) for kind in PART_KINDS})


@settings(deadline=None)
@given(st.lists(SCORES, min_size=1, max_size=4))
def test_stacked_bars_share_a_scale_and_stay_inside(scores: list[dict[str, float]]) -> None:
    scale = stacked_scale(scores)  # type: ignore[arg-type]
    spread = (scale.high - scale.low) or 1
    for score in scores:
        segments = stacked(score, scale)  # type: ignore[arg-type]
        for segment in segments:
            assert segment.width == pytest.approx(100 * (abs(segment.value) / spread), abs=1e-6)
            assert segment.x >= -1e-6
            assert segment.x + segment.width <= 100 + 1e-6
            away = (
                segment.x >= scale.zero - 1e-6 if segment.value >= 0 else segment.x + segment.width <= scale.zero + 1e-6
            )
            assert away


def test_differences_leave_the_middle_to_both_sides() -> None:
    more, less, none = two_sided([4.0, -2.0, 0.0])
    assert (more.kind, more.x, more.width) == ("more", 50, 50)
    assert (less.kind, less.x, less.width) == ("less", 25, 25)
    assert none.width == 0


def test_a_bin_with_little_in_it_can_be_seen() -> None:
    bins = columns([0.0, 1.0, 2.0, 3.0], [1000, 1, 0])
    assert [bin.height for bin in bins] == [100, 2, 0]
    assert sum(bin.width for bin in bins) == pytest.approx(100)
    assert columns([], []) == ()


def test_numbers_as_they_are_read() -> None:
    assert number(-0.001) == "0.00"
    assert number(-1.5) == "\u22121.50"
    assert signed(1.5) == "+1.50"
    assert signed(-0.0) == "0.00"
    assert size(1536) == "1.5 KB"
    assert [shade(value, 9.0) for value in (0, 0.01, 4.5, 9)] == [0, 1, 4, 9]
    assert readable("1882 %2E") == "1882 ."
    assert readable("100%") == "100%"


def test_an_answer_in_its_surroundings() -> None:
    text = "word " * 200 + "the ANSWER is here " + "more " * 200
    at = text.index("ANSWER")
    found = excerpt(text, at, at + 6)
    assert (found.answer, found.before[:2], found.after[-1:]) == ("ANSWER", "… ", "…")
    assert found.before.endswith("the ")
    assert len(found.before) + len(found.after) < 600
    whole = excerpt("An ANSWER.", 3, 9)
    assert (whole.before, whole.after) == ("An ", ".")
    assert len(shortened("x" * 1000)) < 300


@settings(deadline=None)
@given(st.text(max_size=80), st.text(max_size=10))
def test_marked_pieces_are_the_line(text: str, words: str) -> None:
    pieces = marked(text, words)
    wanted = "|".join(map(re.escape, words.split()))
    assert all(piece for piece, _ in pieces) or pieces == [("", False)]
    assert all(re.fullmatch(wanted, piece, re.IGNORECASE) for piece, hit in pieces if hit)
