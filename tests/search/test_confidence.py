from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.errors import ModelDamaged
from sparc_search.records import ScorePart
from sparc_search.search.confidence import Calibration, fit, from_card, rival_score, shared_words, words
from sparc_search.search.lexical import LexWeight

PLAIN = Calibration(bias=-2.0, score=0.5, lead=1.0, widest=3.0)


def test_the_formula() -> None:
    assert PLAIN.confidence(6.0, 5.0) == pytest.approx(1 / (1 + math.exp(-(-2 + 3 + 1))))
    assert PLAIN.confidence(6.0, -50.0) == PLAIN.confidence(6.0, None)
    assert PLAIN.confidence(6.0, None) == pytest.approx(1 / (1 + math.exp(-(-2 + 3 + 3))))


def test_words_that_the_passage_has_count() -> None:
    sharing = replace(PLAIN, words=2.0, usual=0.5)
    assert sharing.confidence(6.0, 5.0, 0.25) == pytest.approx(1 / (1 + math.exp(-(-2 + 3 + 1 + 0.5))))
    assert sharing.confidence(6.0, 5.0) == sharing.confidence(6.0, 5.0, 0.5)
    assert PLAIN.confidence(6.0, 5.0, 0.9) == PLAIN.confidence(6.0, 5.0)


def test_how_much_of_the_words_a_passage_has() -> None:
    weights = [LexWeight(1, "lex.eiger", 3.0), LexWeight(2, "lex.who", 1.0)]
    parts = [ScorePart("passage", 7.0), ScorePart("lex", 2.0)]
    assert shared_words(parts, weights) == 0.5
    assert shared_words(parts, []) is None  # lex_weight is 0, or the question has no words


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_it_is_a_probability(score: float, rival: float) -> None:
    assert 0.0 <= PLAIN.confidence(score, rival) <= 1.0


def test_a_card_holds_it() -> None:
    assert from_card({"confidence": PLAIN.as_card()}) == PLAIN
    assert from_card({"confidence": replace(PLAIN, words=1.0, usual=0.5).as_card()}) != PLAIN
    of_old = {name: value for name, value in PLAIN.as_card().items() if name not in ("words", "usual")}
    assert from_card({"confidence": of_old}) == PLAIN
    assert from_card({}) is None
    for damaged in ({"confidence": {}}, {"confidence": 3}, {"confidence": {**PLAIN.as_card(), "lead": "far"}}):
        with pytest.raises(ModelDamaged, match="confidence"):
            from_card(damaged)


def test_a_rival_says_something_else() -> None:
    assert words("The  U.K.!") == ("u", "k")
    assert rival_score([("the Eiger", 5.0), ("Eiger.", 4.5), ("EIGER", 4.0), ("Mönch", 3.0), ("x", 2.0)]) == 3.0
    assert rival_score([("the Eiger", 5.0), ("eiger", 4.0)]) is None
    assert rival_score([]) is None


def test_fitting_finds_the_numbers_back() -> None:
    rng = np.random.default_rng(0)
    scores, leads = rng.normal(10, 3, 20_000), rng.exponential(1.5, 20_000)
    chance = 1 / (1 + np.exp(-(-6 + 0.4 * scores + 1.2 * np.minimum(leads, 5))))
    found = fit(scores.tolist(), (scores - leads).tolist(), (rng.random(20_000) < chance).tolist())
    assert (found.bias, found.score, found.lead) == pytest.approx((-6, 0.4, 1.2), rel=0.15)


def test_fitting_finds_what_shared_words_are_worth() -> None:
    rng = np.random.default_rng(1)
    shared = rng.random(20_000)
    right = rng.random(20_000) < 1 / (1 + np.exp(-(4 * shared - 2)))
    found = fit([1.0] * 20_000, [None] * 20_000, right.tolist(), [None, *shared.tolist()[1:]])
    assert (found.words, found.usual) == (pytest.approx(4, rel=0.1), pytest.approx(0.5, rel=0.05))


def test_fitting_what_can_be_told_apart_stays_finite() -> None:
    found = fit([1.0, 2.0, 8.0, 9.0], [None, None, None, None], [False, False, True, True])
    assert all(map(math.isfinite, found.as_card().values()))
    assert found.confidence(9.0, None) > 0.5 > found.confidence(1.0, None)
