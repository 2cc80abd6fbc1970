"""Corpora of growing size."""

from __future__ import annotations

import json

import pytest

from sparc_search.errors import UsageError
from sparc_search.evaluation.nested import TitledText, as_lines, gold_of, nested
from sparc_search.evaluation.questions import OpenQuestion

GOLD = [TitledText("", "gold 1"), TitledText("", "gold 2")]
OTHERS = [TitledText("t", f"other {n}") for n in range(10)]


def test_every_size_holds_the_one_before_and_the_gold_is_in_the_smallest() -> None:
    parts = list(nested(GOLD, [TitledText("t", "gold 2"), *OTHERS], [3, 6, 8]))
    assert [len(part) for part in parts] == [3, 3, 2]
    assert parts[0][:2] == GOLD
    texts = [text.text for part in parts for text in part]
    assert len(set(texts)) == len(texts)


def test_a_corpus_that_is_too_small_ends_earlier() -> None:
    assert [len(part) for part in nested(GOLD, OTHERS, [10, 100, 1000])] == [10, 2]


def test_gold_must_fit() -> None:
    with pytest.raises(UsageError, match="more than the smallest"):
        list(nested(GOLD, OTHERS, [1, 2]))


def test_gold_and_lines() -> None:
    questions = [OpenQuestion(str(n), "q", context=context) for n, context in enumerate(("a", "a ", "", "b"))]
    assert gold_of(questions, [TitledText("A", "a"), TitledText("C", "c")]) == [
        TitledText("A", "a"),
        TitledText("", "b"),
    ]
    assert [json.loads(line)["id"] for line in as_lines(GOLD, "part")] == ["part-0", "part-1"]
