"""Both errors of saying "I don't know"."""

from __future__ import annotations

import pytest

from sparc_search.evaluation.calibration import Observation
from sparc_search.evaluation.refusing import refusing
from sparc_search.search.confidence import Calibration

AS_SCORED = Calibration(bias=0.0, score=1.0, lead=0.0, widest=0.0)
"""The confidence is 0.5 at a score of 0, and grows with it."""


def test_right_answers_are_refused_and_others_are_let_through() -> None:
    right = [Observation(score, None, right=True) for score in (-1.0, 1.0, 2.0, 3.0)]
    wrong = [Observation(score, None, right=False) for score in (-1.0, 1.0)]
    absent = [Observation(score, None, right=False, there=False) for score in (-2.0, -1.0, 1.0)]
    never, half = refusing(AS_SCORED, [*right, *wrong, *absent], (0.0, 0.5))
    assert (never.refused_right, never.shown_wrong, never.shown_absent) == (0.0, 1.0, 1.0)
    assert (half.refused_right, half.shown_wrong) == (0.25, 0.5)
    assert half.shown_absent == pytest.approx(1 / 3, abs=1e-3)
