"""What is painted: a word for itself, a pair by its bracket, and no word for the pair it is part of."""

from __future__ import annotations

import re

from starlette.testclient import TestClient

from sparc_search.inspection import Mark, Piece
from sparc_search.web.painting import painted, strong

TEXT = "The Suez Canal opened"
PIECES = [Piece(match[0], match.start(), match.end(), False) for match in re.finditer(r"\w+", TEXT)]


def drawn(*marks: Mark, chosen: tuple[int, int] | None = None) -> list[set[str]]:
    made = painted(TEXT, PIECES, marks, chosen, most=2.0, numbers={mark.name: at for at, mark in enumerate(marks)})
    assert "".join(one.before + one.text for one in made) == TEXT
    return [set(one.classes.split()) for one in made]


def test_a_word_is_filled_for_the_start_and_underlined_for_the_end() -> None:
    assert drawn(Mark("suez", 1, 1, 2.0, 0.5)) == [set(), {"s9", "e2"}, set(), set()]
    assert drawn(Mark("canal", 1, 2, 0.0, 1.0, 0.2)) == [set(), set(), {"e4", "l1"}, set()]


def test_a_pair_has_a_bracket_and_its_words_no_shade() -> None:
    classes = drawn(Mark("suez canal", 2, 1, 1.0, 0.5))
    assert classes == [set(), {"b0", "b0-first", "b0-start"}, {"b0", "b0-last", "b0-start"}, set()]


def test_brackets_that_overlap_stand_above_one_another() -> None:
    classes = drawn(Mark("suez canal", 2, 1, 1.0, 0.0), Mark("canal opened", 2, 2, 0.0, 1.0))
    assert classes[2] == {"b0", "b0-last", "b0-start", "b1", "b1-first", "b1-end"}


def test_points_stand_below_a_word_and_above_a_pair() -> None:
    marks = (Mark("suez", 1, 1, 1.25, 0.5), Mark("suez canal", 2, 1, 1.0, 0.5), Mark("opened", 1, 3, 0.01, 0.0))
    made = painted(TEXT, PIECES, marks, (2, 3), most=2.0, numbers={"suez": 4, "suez canal": 7, "opened": 9})
    assert [(one.points, one.over, one.grams) for one in made] == [
        ("", "", ""),
        ("1.8", "1.5", "4 7"),
        ("", "", "7"),
        ("", "", "9"),
    ]
    assert [one.inside for one in made] == [False, False, False, True]
    assert {"on", "first"} <= set(made[2].classes.split())


def test_of_all_pairs_only_the_heavy_ones_have_a_bracket() -> None:
    marks = [Mark("a", 1, 0, 0.1, 0.0), Mark("a b", 2, 0, 1.0, 0.0), Mark("b c", 2, 1, 0.1, 0.0)]
    assert strong(marks) == marks[:2]


def test_on_the_passage_page_no_pair_bleeds_into_its_words(client: TestClient) -> None:
    page = client.get("/passages/alps/0?phrase=climbed&side=end").text
    weights = client.get("/api/passages/alps/0?phrase=climbed&side=end").json()["selection"]["weights"]["end_1"]
    shaded = [
        (int(number), bool(re.search(r"\be[1-9]", classes)))
        for classes, number in re.findall(r'<a class="tok ([^"]*)"[^>]*data-token="(\d+)"', page)
    ]
    assert shaded == [(number, weight > 0) for number, weight in enumerate(weights)]
    assert "b0-first" in page


def test_the_pieces_of_a_word_stay_together() -> None:
    text = "Eugénie, of 北京 x."
    places = [(0, 4), (4, 7), (7, 8), (9, 11), (12, 13), (13, 14), (15, 16), (16, 17)]
    pieces = [Piece("##al", 0, 0, True), *(Piece(text[start:end], start, end, False) for start, end in places)]
    drawn = painted(text, pieces, [], None, most=1.0)
    assert [one.text for one in drawn if one.opens] == ["Eugé"]
    assert [one.text for one in drawn if one.closes] == ["nie"]
    title = [Piece(name, 0, 0, True) for name in ("su", "##e", "##z", "canal")]
    assert [(one.opens, one.closes) for one in painted("", title, [], None, most=1.0)] == [
        (True, False),
        (False, False),
        (False, True),
        (False, False),
    ]
