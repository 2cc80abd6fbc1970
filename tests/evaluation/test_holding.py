"""Whether a text holds an answer; the fast way over a corpus and the slow one agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.evaluation import holding
from sparc_search.evaluation.holding import answerable, holds
from sparc_search.evaluation.questions import OpenQuestion

WORDS = st.lists(st.sampled_from(["the", "Eiger", "sea", "A.D.", "1858", "é"]), max_size=4).map(" ".join)


@pytest.mark.parametrize(
    ("answer", "text", "held"),
    [
        ("the Eiger", "On Eiger, in snow", True),
        ("sea", "A seaside town", False),
        ("in 1858", "It was (in 1858) new.", True),
        ("the", "the a an", False),  # nothing is left of such an answer
        ("U.S.", "the US army", True),
    ],
)
def test_words_in_a_row(answer: str, text: str, held: bool) -> None:
    assert holds(OpenQuestion("1", "q", (answer,)), text) is held


def test_a_pattern_is_found_anywhere() -> None:
    assert holds(OpenQuestion("1", "q", pattern=r"18\d\d"), "It was built in 1858.")
    assert not holds(OpenQuestion("1", "q", pattern=r"^18\d\d"), "In 1858.")


@given(st.lists(WORDS, max_size=6), st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=4))
def test_the_fast_way_is_the_slow_way(texts: list[str], asked: list[tuple[str, bool]]) -> None:
    questions = [
        OpenQuestion(str(number), "q", pattern=words.replace(" ", r"\s+") or "x") if regex
        else OpenQuestion(str(number), "q", (words,))
        for number, (words, regex) in enumerate(asked)
    ]  # fmt: skip
    slow = {question.id for question in questions if any(holds(question, text) for text in texts)}
    assert answerable(questions, texts) == slow


def test_a_match_across_two_texts_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "_BLOCK", 10**6)
    question = OpenQuestion("1", "q", pattern=r"gold\s+dome")
    assert answerable([question], ["of gold", "dome", "more"]) == set()
    assert answerable([question], ["of gold", "dome", "a gold dome"]) == {"1"}
