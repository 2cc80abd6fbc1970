"""How replies are judged, and what a run comes to."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from sparc_search.encoder import Encoder
from sparc_search.evaluation.measuring import measured
from sparc_search.evaluation.open_domain import CUTS, group_of, judge, summarise
from sparc_search.evaluation.questions import OpenQuestion
from sparc_search.evaluation.switched_off import SwitchedOff
from sparc_search.records import Answer, Passage, Reply

QUESTION = OpenQuestion("1", "q", ("right",))


def reply(*texts: str, passages: tuple[str, ...] = ()) -> Reply:
    """Answers, best first; `passages` are the texts they stand in (one id for each text)."""
    found = passages or ("text",) * len(texts)
    answers = tuple(
        Answer(text, 9.0 - rank, Passage(f"p {where}", "d", 0, where, source="file.md"), 0, 1, ("sparse",), ())
        for rank, (text, where) in enumerate(zip(texts, found, strict=True))
    )
    return Reply("q", answers, "hybrid", 1, 3, {"encode": 0.25, "score": 0.5})


def test_rank_and_means() -> None:
    rows = [judge(QUESTION, reply("wrong", "the right")), judge(QUESTION, reply("right")), judge(QUESTION, reply())]
    assert [row.rank for row in rows] == [2, 1, 0]
    assert rows[0].seconds == 0.75
    assert rows[2].found == ""
    report = summarise(rows, seconds=3.0)
    assert report.exact_match == pytest.approx(33.33)
    assert report.answer_recall == {"@1": 33.33, **{f"@{cut}": 66.67 for cut in CUTS[1:]}}
    assert report.mean_reciprocal_rank == 0.5
    assert report.seconds_per_question == 1.0
    assert report.seconds_p50 == report.seconds_p95 == 0.75


def test_a_passage_counts_once_and_by_what_it_holds() -> None:
    found = reply("x", "y", "z", passages=("nothing here", "nothing here", "The Right, indeed"))
    assert judge(QUESTION, found).passage_rank == 2
    assert judge(QUESTION, reply("x", passages=("all rights",))).passage_rank == 0


def test_questions_on_one_paragraph_are_one_group() -> None:
    first, second = (OpenQuestion(id, "q", ("a",), context="the same") for id in "12")
    assert group_of(first) == group_of(second) != group_of(OpenQuestion("1", "q", context="another"))
    assert group_of(QUESTION) == "1"


def test_no_questions_no_crash() -> None:
    assert summarise([], 0.0).exact_match == 0.0


def test_only_the_asking_is_timed() -> None:
    def replies() -> Iterator[tuple[OpenQuestion, Reply]]:
        yield QUESTION, reply("right")
        yield QUESTION, reply("wrong", passages=("right " * 3,))

    told = []
    run = measured(replies(), "tag", lambda: told.append(time.sleep(0.2)))
    assert len(told) == len(run.rows) == 2
    assert run.seconds < 0.2
    assert [one.cause for one in run.wrong] == ["wrong span"]
    assert len(run.trec_run) == len(run.trec_judgements) == 2


def test_parts_switched_off(toy_encoder: Encoder) -> None:
    question = "When was the bridge built?"
    [whole] = toy_encoder.encode_questions([question])
    [bare] = SwitchedOff(toy_encoder, ["sparc", "lex", "dense"]).encode_questions([question])
    assert whole.start_ngrams
    assert whole.lex_terms
    assert whole.start_vector.any()
    assert not bare.start_ngrams
    assert not bare.end_ngrams
    assert not bare.lex_terms
    assert not bare.start_vector.any()
    assert not bare.passage_vector.any()
