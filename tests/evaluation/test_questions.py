"""The kinds of question files, and which questions are taken from them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sparc_search.errors import ReaderError
from sparc_search.evaluation.questions import OpenQuestion, read_questions

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def squad_file(folder: Path, count: int = 5) -> Path:
    qas = [{"id": n, "question": f"q{n}", "answers": [{"text": "a", "answer_start": 0}]} for n in range(count)]
    impossible = {"id": 99, "question": "", "answers": []}
    path = folder / "dev.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "a text", "qas": [*qas, impossible]}]}]}))
    return path


def test_squad(tmp_path: Path) -> None:
    questions = read_questions(squad_file(tmp_path), every=2)
    assert [question.text for question in questions] == ["q0", "q2", "q4"]
    assert questions[0] == OpenQuestion("0", "q0", ("a",), context="a text")


def test_json_lines_of_nq_open_and_dpr(tmp_path: Path) -> None:
    path = tmp_path / "nq.jsonl"
    path.write_text(
        '\ufeff{"question": "who", "answer": ["Ada", "Ada L."]}\n\n{"id": "x", "question": "what", "answers": "tea"}\n',
        "utf-8",
    )
    assert read_questions(path) == [OpenQuestion("1", "who", ("Ada", "Ada L.")), OpenQuestion("x", "what", ("tea",))]


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "nq.jsonl"
    path.write_text(json.dumps({"question": "a\u2028b", "answer": ["c"]}, ensure_ascii=False), "utf-8")
    assert read_questions(path)[0].text == "a\u2028b"


def test_dpr_as_one_list_and_as_columns(tmp_path: Path) -> None:
    whole = tmp_path / "dpr.json"
    whole.write_text(json.dumps([{"question": "who", "answers": ["Ada"], "positive_ctxs": []}]))
    columns = tmp_path / "nq-test.qas.csv"
    columns.write_text("who\t['Ada', \"O'Hara\"]\n")
    assert read_questions(whole) == [OpenQuestion("1", "who", ("Ada",))]
    assert read_questions(columns) == [OpenQuestion("1", "who", ("Ada", "O'Hara"))]


def test_curated_trec(tmp_path: Path) -> None:
    path = tmp_path / "trec.tsv"
    path.write_text("1394\ttest\tWhat country?\tU\\.?S\\.?A?|America\r\n")
    [question] = read_questions(path)
    assert question.gold == ("U\\.?S\\.?A?|America",)
    assert question.exact_match("u.s.") == 1
    assert question.exact_match("the USA") == 0  # the pattern stands at the beginning
    assert question.f1("America") == 1


def test_patterns_in_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "CuratedTrec-test.txt"
    path.write_text('{"question": "how high", "answer": ["20,?3\\\\d+ feet", "6,194"]}\n')
    [question] = read_questions(path, regex=True)
    assert question.exact_match("20320 feet") == question.exact_match("6,194 m") == 1
    assert read_questions(path)[0].exact_match("20320 feet") == 0


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"question": "who", "answer": "Ada"}'))
    assert read_questions(path) == [OpenQuestion("1", "who", ("Ada",))]


def test_a_sample_keeps_the_order_and_follows_the_seed(tmp_path: Path) -> None:
    path = squad_file(tmp_path, 50)
    some = read_questions(path, sample=10, seed=1)
    assert len(some) == 10
    assert some == sorted(some, key=lambda question: int(question.id))
    assert some == read_questions(path, sample=10, seed=1) != read_questions(path, sample=10, seed=2)
    assert len(read_questions(path, every=10, sample=10)) == 5


def test_the_questions_of_the_sample_corpus() -> None:
    questions = read_questions(EXAMPLES / "questions.jsonl")
    assert len(questions) > 100
    assert all(question.text and question.answers for question in questions)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "[1]"),
        ("b.json", '{"data": 3}'),
        ("a.jsonl", "{}"),
        ("a.tsv", "one\ttwo\tthree"),
        ("b.tsv", "1\tt\tq\t("),
        ("c.tsv", "q\tnot a list"),
        ("c.jsonl", ""),
        ("d.jsonl.gz", "no gzip"),
    ],
)
def test_other_files_are_clear_errors(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ReaderError, match=r"no questions|cannot read"):
        read_questions(tmp_path / name)
