"""The BM25 baseline, against the formula worked out by hand."""

from __future__ import annotations

import math

import pytest

from sparc_search.evaluation.bm25 import K1, B, Bm25, passages_only
from sparc_search.records import Passage

pytestmark = pytest.mark.extras  # bm25s

TEXTS = ("gold dome gold", "dome river", "lake city museum tower bridge", "dome river")
PASSAGES = [Passage(f"p{number}", "d", number, text) for number, text in enumerate(TEXTS)]


def score(word: str, text: str) -> float:
    """Lucene's BM25 of one word."""
    lengths = [len(one.split()) for one in TEXTS]
    holding = sum(word in one.split() for one in TEXTS)
    idf = math.log(1 + (len(TEXTS) - holding + 0.5) / (holding + 0.5))
    tf = text.split().count(word)
    return idf * tf / (tf + K1 * (1 - B + B * len(text.split()) / (sum(lengths) / len(lengths))))


def test_scores_are_the_formulas() -> None:
    found = Bm25(PASSAGES).propose("Where is the gold dome?", 10)
    assert [one.passage.id for one in found] == ["p0", "p1", "p3"]  # equal scores: by id
    assert found[0].score == pytest.approx(score("gold", TEXTS[0]) + score("dome", TEXTS[0]), rel=1e-5)
    assert found[1].score == pytest.approx(score("dome", TEXTS[1]), rel=1e-5)


def test_titles_count_and_unknown_words_find_nothing() -> None:
    bm25 = Bm25([Passage("a", "d", 0, "text here", title="Matterhorn"), Passage("b", "d", 1, "other words")])
    assert [one.passage.id for one in bm25.propose("matterhorn", 5)] == ["a"]
    assert bm25.propose("xyzzy", 5) == []
    assert bm25.propose("the of", 5) == []


def test_a_reply_of_passages() -> None:
    reply = passages_only(Bm25(PASSAGES), "gold", 3)
    assert [answer.passage.id for answer in reply.answers] == ["p0"]
    assert reply.seconds["retrieve"] > 0


def test_the_library_keeps_quiet(caplog: pytest.LogCaptureFixture) -> None:
    Bm25(PASSAGES)
    assert caplog.records == []
