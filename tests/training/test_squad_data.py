"""SQuAD files become passages: answers keep their tokens, windows share none, articles are held out whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_pieces import WORDS, tiny_pieces

from sparc_search.errors import UsageError
from sparc_search.squad import SquadFile, paragraphs_of
from sparc_search.training.squad_data import (
    TrainingPassage,
    article_titles,
    hold_out,
    passages_of,
    token_span,
    windows,
)

PIECES = tiny_pieces()


def qa(question: str, answer: str, context: str, number: int = 0) -> dict[str, Any]:
    at = -1
    for _ in range(number + 1):
        at = context.index(answer, at + 1)
    return {"id": question, "question": question, "answers": [{"text": answer, "answer_start": at}]}


def squad(*paragraphs: tuple[str, str, list[dict[str, Any]]], weight: float = 1.0) -> SquadFile:
    """(title, context, questions) each."""
    data = [{"title": title, "paragraphs": [{"context": text, "qas": qas}]} for title, text, qas in paragraphs]
    read = tuple(paragraph for article in data for paragraph in paragraphs_of(article))
    return SquadFile(Path("x"), "", read, weight)


def answer_of(passage: TrainingPassage, number: int) -> list[str]:
    question = passage.questions[number]
    return [PIECES.piece(token) for token in passage.ids[question.start : question.end + 1]]


def test_answers_are_found_by_character_and_not_by_word() -> None:
    text = "The dome, Café in Rome. The golden dome 北京大学!"
    questions = [qa("a", "dome", text, 1), qa("b", "Café in Rome", text), qa("c", "京大", text), qa("d", "gold", text)]
    [passage] = passages_of([squad(("t", text, questions))], PIECES, 100, 16)
    answers = [answer_of(passage, number) for number in range(4)]
    assert answers == [["dome"], ["cafe", "in", "rome"], ["京", "大"], ["golden"]]
    assert passage.questions[0].start == 9  # the second dome


def test_a_title_is_known_if_any_file_knows_it() -> None:
    def part(title: str, number: int) -> tuple[str, str, list[dict[str, Any]]]:
        text = f"the dome in rome {number}"
        return title, text, [qa("a", "dome", text)]

    heap = squad(*(part("unknown", number) for number in range(20)))
    named = squad(part("golden_dome", 3), *(part(f"t{number}", 20 + number) for number in range(20)))
    found = passages_of([heap, named], PIECES, 100, 16, title_window=8)
    titles = [[PIECES.piece(token) for token in passage.title] for passage in found]
    assert titles[3] == ["golden", "dome"]
    assert [number for number in range(20) if titles[number]] == [3]
    assert found[3].article == "unknown"  # what is held out is chosen by what the first file says
    assert not any(len(passage.title) for passage in passages_of([heap, named], PIECES, 100, 16))


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*WORDS, "climbing", "cafe\u0301", "😀", "北京", "x,y", "\t"]), max_size=12), st.data())
def test_token_spans_cover_their_characters_and_no_more(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    offsets = PIECES([text])[0].offsets
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    touched = [at for at, (first, last) in enumerate(offsets.tolist()) if first < end and last > start]
    span = token_span(offsets, start, end)
    assert span == ((touched[0], touched[-1]) if touched and end > start else None)


@given(st.integers(0, 200), st.integers(1, 50))
def test_windows_never_hold_a_token_twice(tokens: int, size: int) -> None:
    pieces = PIECES(["dome city " * 100])[0]
    pieces = type(pieces)(np.arange(tokens, dtype=np.int32), pieces.offsets[:tokens], pieces.flags[:tokens])
    cut = windows(pieces, size)
    assert np.concatenate(cut).tolist() == list(range(tokens))
    assert all(len(ids) <= size for ids in cut)


def test_a_long_passage_is_cut_and_each_question_goes_to_its_window() -> None:
    text = "dome " * 10 + "rome " + "dome " * 9 + "paris lake " + "city " * 9
    questions = [
        qa("first", "dome", text),
        qa("second", "rome", text),
        qa("across", "dome paris", text),
        qa("third", "lake", text),
    ]
    found = passages_of([squad(("t", text, questions))], PIECES, 12, 16)  # windows of ten
    asked = [[question.id for question in passage.questions] for passage in found]
    assert asked == [["first"], ["second"], ["third"]]  # an answer that two windows share is left out
    assert [answer_of(passage, 0) for passage in found] == [["dome"], ["rome"], ["lake"]]


def test_the_same_paragraph_in_two_files_is_one_passage() -> None:
    text = "the dome of rome"
    one, other = squad(("t", text, [qa("a", "dome", text)])), squad(("u", text, [qa("b", "rome", text)]), weight=0.5)
    [passage] = passages_of([one, other], PIECES, 100, 16)
    assert [question.id for question in passage.questions] == ["a", "b"]
    assert (passage.article, passage.weight) == ("t", 1.0)


def test_what_cannot_be_learned_from_is_left_out() -> None:
    text = "the dome of rome"
    unanswerable = {"id": "v2", "question": "who", "answers": [], "is_impossible": True}
    empty = {"id": "e", "question": "", "answers": [{"text": "dome", "answer_start": 4}]}
    blank = {"id": "b", "question": "who", "answers": [{"text": "", "answer_start": 4}]}
    beyond = {"id": "o", "question": "who", "answers": [{"text": "dome", "answer_start": 99}]}
    gap = {"id": "g", "question": "who", "answers": [{"text": " ", "answer_start": 3}]}
    bad = [unanswerable, empty, blank, beyond, gap]
    [passage] = passages_of([squad(("t", text, [*bad, qa("ok", "dome", text)]), ("t", "", bad))], PIECES, 100, 16)
    assert [question.id for question in passage.questions] == ["ok"]
    with pytest.raises(UsageError, match="no question with an answer"):
        passages_of([squad(("t", text, bad))], PIECES, 100, 16)


def test_long_questions_are_cut_to_their_window() -> None:
    text = "the dome"
    [passage] = passages_of([squad(("t", text, [qa("who " * 50, "dome", text)]))], PIECES, 100, 16)
    assert len(passage.questions[0].ids) == 14


def articles(count: int) -> list[TrainingPassage]:
    return [TrainingPassage(np.asarray([7]), f"article {number % count}", 1.0) for number in range(count * 3)]


@given(st.integers(1, 9), st.integers(0, 12), st.integers(0, 99))
def test_articles_are_held_out_whole(count: int, held: int, seed: int) -> None:
    passages = articles(count)
    titles = [f"article {number}" for number in range(count)]
    kept, out = hold_out(passages, titles, held, seed)
    assert len(kept) + len(out) == len(passages)
    assert not {passage.article for passage in kept} & {passage.article for passage in out}
    assert len({passage.article for passage in out}) == min(held, count)
    assert hold_out(passages, titles[::-1], held, seed)[1] == out  # by seed alone


def test_a_heap_is_no_article() -> None:
    rows = [("heap", f"text {number}", []) for number in range(5)] + [("", "text", [])]
    rows += [(f"article {number}", "text", []) for number in range(15)]
    assert article_titles(squad(*rows)) == sorted(f"article {number}" for number in range(15))
