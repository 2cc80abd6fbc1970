"""Closed evaluation, with an encoder whose scores can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparc_search.encoder import Encoder
from sparc_search.errors import ReaderError
from sparc_search.evaluation.closed import (
    VARIANTS,
    ClosedRow,
    evaluate_closed,
    paragraph_windows,
    read_answerable,
    summarise,
)
from sparc_search.squad import SquadParagraph

TEXT = "Ada built the bridge in 1874. Bob built the tower in 1917."


def squad_file(folder: Path, text: str = TEXT) -> Path:
    questions = [
        {"id": "1", "question": "when was the bridge built?", "answers": [{"text": "1874", "answer_start": 24}]},
        {"id": "2", "question": "when was the tower built?", "answers": [{"text": "1917", "answer_start": 54}]},
        {"id": "3", "question": "impossible?", "answers": [], "is_impossible": True},
    ]
    path = folder / "dev.json"
    path.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [{"context": text, "qas": questions}]}]}))
    return path


def test_the_sparse_part_tells_two_years_apart(toy_encoder: Encoder, tmp_path: Path) -> None:
    paragraphs = read_answerable(squad_file(tmp_path))
    [rows] = list(evaluate_closed(toy_encoder, paragraphs, list(VARIANTS)))
    found = {(row.id, row.variant): row.found for row in rows}
    assert found["1", "all parts"] == "1874"
    assert found["2", "all parts"] == "1917"
    # Dense vectors alone see two years that are alike: the first wins both times.
    assert found["1", "without sparc"] == found["2", "without sparc"]
    assert {row.id for row in rows} == {"1", "2"}  # a question without an answer is not asked


def test_means_in_percent() -> None:
    rows = [ClosedRow("1", "a", "x", 1.0, 1.0), ClosedRow("2", "a", "y", 0.0, 0.5), ClosedRow("1", "b", "z", 0.0, 0.0)]
    report = summarise(rows)
    assert report.scores["a"] == {"exact_match": 50.0, "f1": 75.0}


def test_a_long_paragraph_is_read_in_windows_that_share_nothing(toy_encoder: Encoder) -> None:
    text = " ".join(f"word{number}" for number in range(toy_encoder.window * 2 + 5))
    passages = paragraph_windows(toy_encoder, SquadParagraph(text, ()))
    assert "".join(passage.text for passage in passages) == text
    assert all(len(toy_encoder.token_offsets(passage.text)) <= toy_encoder.window for passage in passages)
    assert [passage.start for passage in passages] == [text.index(passage.text) for passage in passages]


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    paragraphs = [
        {
            "context": f"text {n}",
            "qas": [{"id": str(n), "question": "q", "answers": [{"text": "text", "answer_start": 0}]}],
        }
        for n in range(20)
    ]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    assert read_answerable(path, 5, 1) == read_answerable(path, 5, 1) != read_answerable(path, 5, 2)
    assert len(read_answerable(path, 5, 1)) == 5
    assert len(read_answerable(path, 50)) == 20


@pytest.mark.parametrize("content", ["{", "[]", '{"data": [{"paragraphs": [{}]}]}'])
def test_another_format_is_a_clear_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ReaderError, match="not a SQuAD file"):
        read_answerable(path)


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="cannot read"):
        read_answerable(tmp_path / "none.json")
