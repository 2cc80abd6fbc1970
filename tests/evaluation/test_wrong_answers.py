"""The first guess at why an answer is wrong."""

from __future__ import annotations

import pytest

from sparc_search.evaluation.questions import OpenQuestion
from sparc_search.evaluation.wrong_answers import (
    WrongAnswer,
    as_markdown,
    as_tsv,
    counts,
    sheet,
    wrong_answer,
)
from sparc_search.records import Answer, Passage, Reply

OWN = "The Eiger was first climbed in 1858 by Charles Barrington of Ireland."


def reply(found: str, passage: str) -> Reply:
    answer = Answer(found, 1.0, Passage("p", "d", 0, passage, title="Alps"), 0, 1, ("sparse",), ())
    return Reply("q", (answer,), "hybrid", 1, 1, {})


def guess(found: str, passage: str, *gold: str, question: str = "Who climbed the Eiger in 1858?") -> str | None:
    wrong = wrong_answer(OpenQuestion("1", question, gold, context=OWN), reply(found, passage))
    return wrong and wrong.cause


@pytest.mark.parametrize(
    ("found", "passage", "gold", "cause"),
    [
        ("Charles Barrington", OWN, "Charles Barrington", None),
        ("Barrington of Ireland", OWN, "Charles Barrington", "boundary"),
        ("Ireland", OWN, "Charles Barrington", "wrong span"),
        ("Whymper", "The Matterhorn was climbed by Whymper.", "Charles Barrington", "wrong passage"),
        ("Anderegg", "In 1858 Anderegg climbed the Eiger, some say.", "Charles Barrington", "possibly right"),
        ("eleven", "There were eleven.", "11", "possibly right"),
        ("Zürich–Nord", "Zürich–Nord", "Zurich Nord", "possibly right"),
        ("mountains", "mountains", "mountain", "possibly right"),
    ],
)
def test_causes(found: str, passage: str, gold: str, cause: str | None) -> None:
    assert guess(found, passage, gold) == cause


def test_patterns() -> None:
    question = OpenQuestion("1", "when", pattern=r"18\d\d")
    near = wrong_answer(question, reply("in 1858", "It was in 1858."))
    far = wrong_answer(question, reply("the Eiger", "The Eiger is high."))
    assert near
    assert near.cause == "boundary"
    assert far
    assert far.cause == "wrong passage"


def test_no_answer() -> None:
    wrong = wrong_answer(OpenQuestion("1", "q", ("a",)), Reply("q", (), "hybrid", 1, 0, {}))
    assert wrong
    assert wrong.cause == "no answer"


def made(number: int, cause: str = "wrong span") -> WrongAnswer:
    return WrongAnswer(str(number), "a|b?", ("x", "y"), "z\tz", "line\nline", "T", cause, 0)  # type: ignore[arg-type]


def test_the_sheet_is_drawn_by_seed_and_sorted_by_cause() -> None:
    wrong = [made(n, "boundary" if n % 2 else "wrong passage") for n in range(20)]
    chosen = sheet(wrong, 8, 1)
    assert len(chosen) == 8
    assert chosen == sheet(wrong, 8, 1) != sheet(wrong, 8, 2)
    assert [one.cause for one in chosen] == sorted((one.cause for one in chosen), reverse=True)
    assert sum(counts(chosen).values()) == 8
    assert len(sheet(wrong, 50)) == 20


def test_the_sheet_as_text() -> None:
    lines = as_tsv([made(1)]).splitlines()
    assert len(lines) == 2
    assert lines[1].split("\t")[2:6] == ["a|b?", "x / y", "z z", "line line"]
    page = as_markdown([made(1)])
    assert "| wrong span | 1 |" in page
    assert "a\\|b?" in page
