"""Open evaluation: the three kinds of question files, and how replies are judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparc_search.errors import ReaderError
from sparc_search.evaluation.open_domain import OpenQuestion, judge, read_questions, summarise
from sparc_search.evaluation.switched_off import SwitchedOff
from sparc_search.interfaces import Encoder
from sparc_search.records import Answer, Passage, Reply


def reply(*texts: str) -> Reply:
    passage = Passage("p", "d", 0, "text", source="file.md")
    answers = tuple(Answer(text, 9.0 - rank, passage, 0, len(text), ("sparse",), ()) for rank, text in enumerate(texts))
    return Reply("q", answers, "hybrid", 1, 3, {"encode": 0.25, "score": 0.5})


def test_squad_questions(tmp_path: Path) -> None:
    qas = [{"id": n, "question": f"q{n}", "answers": [{"text": "a", "answer_start": 0}]} for n in range(5)]
    path = tmp_path / "dev.json"
    path.write_text(
        json.dumps(
            {"data": [{"paragraphs": [{"context": "a", "qas": [*qas, {"id": 9, "question": "", "answers": []}]}]}]}
        )
    )
    assert [question.text for question in read_questions(path, every=2)] == ["q0", "q2", "q4"]


def test_question_lines(tmp_path: Path) -> None:
    path = tmp_path / "nq.jsonl"
    path.write_text(
        '{"question": "who", "answer": ["Ada", "Ada L."]}\n\n{"id": "x", "question": "what", "answers": "tea"}\n'
    )
    assert read_questions(path) == [OpenQuestion("1", "who", ("Ada", "Ada L.")), OpenQuestion("x", "what", ("tea",))]


def test_questions_with_patterns(tmp_path: Path) -> None:
    path = tmp_path / "trec.tsv"
    path.write_text("1394\ttest\tWhat country?\tU\\.?S\\.?A?|America\n")
    [question] = read_questions(path)
    assert question.exact_match("u.s.") == 1
    assert question.exact_match("the USA") == 0  # the pattern stands at the beginning
    assert question.f1("America") == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", "[1]"), ("a.jsonl", "{}"), ("a.tsv", "one\ttwo"), ("b.tsv", "1\tt\tq\t("), ("c.jsonl", "")],
)
def test_other_files_are_clear_errors(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ReaderError, match="no questions"):
        read_questions(tmp_path / name)


def test_rank_and_means() -> None:
    question = OpenQuestion("1", "q", ("right",))
    rows = [judge(question, reply("wrong", "the right")), judge(question, reply("right")), judge(question, reply())]
    assert [row.rank for row in rows] == [2, 1, 0]
    assert rows[0].seconds == 0.75
    report = summarise(rows, seconds=3.0)
    assert report.exact_match == pytest.approx(33.33)
    assert report.answer_recall == {"@1": 33.33, "@5": 66.67, "@10": 66.67}
    assert report.mean_reciprocal_rank == 0.5
    assert report.seconds_per_question == 1.0


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
