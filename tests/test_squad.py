"""SQuAD's two versions, read by the one parser that ingest and evaluation share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparc_search.errors import ReaderError
from sparc_search.squad import SquadQuestion, answerable, contexts_of, read_squad


def qa(number: int, answers: list[tuple[str, int]], **more: Any) -> dict[str, Any]:
    given = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": number, "question": f"question {number}?", "answers": given, **more}


def written(folder: Path, *questions: dict[str, Any]) -> Path:
    path = folder / "squad.json"
    paragraphs = [{"context": "Ada built it in 1874.", "qas": list(questions)}, {"context": "Alone.", "qas": []}]
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "The_Forth_ Bridge", "paragraphs": paragraphs}]}))
    return path


def test_answers_and_where_the_first_begins(tmp_path: Path) -> None:
    first, second = read_squad(written(tmp_path, qa(1, [("1874", 16), ("in 1874", 13)]))).paragraphs
    assert (first.text, first.article, first.title) == (
        "Ada built it in 1874.",
        "The_Forth_ Bridge",
        "The Forth Bridge",
    )
    assert first.questions == (SquadQuestion("1", "question 1?", ("1874", "in 1874"), 16),)
    assert second.questions == ()


def test_an_impossible_question_has_plausible_answers_only(tmp_path: Path) -> None:
    plausible = [{"text": "Ada", "answer_start": 0}]
    path = written(tmp_path, qa(1, [("Ada", 0)]), qa(2, [], is_impossible=True, plausible_answers=plausible))
    paragraphs = read_squad(path).paragraphs
    assert paragraphs[0].questions[1] == SquadQuestion("2", "question 2?", (), -1, True, ("Ada",))
    assert [[asked.id for asked in paragraph.questions] for paragraph in answerable(paragraphs)] == [["1"]]


def test_texts_alone_need_no_questions() -> None:
    assert list(contexts_of({"paragraphs": [{"context": "one"}, {"context": "two"}]})) == ["one", "two"]


@pytest.mark.parametrize("text", ["[]", "{", '{"data": [1]}', '{"data": [{"paragraphs": [{"context": "x"}]}]}', "{}"])
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ReaderError, match="is not a SQuAD file"):
        read_squad(path)
    with pytest.raises(ReaderError, match="cannot read"):
        read_squad(tmp_path / "none.json")
