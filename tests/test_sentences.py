from __future__ import annotations

from itertools import pairwise

import pytest

from sparc_search.sentences import sentence_around, sentence_ends


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One two. Three four! Five? Six", ["One two.", "Three four!", "Five?"]),
        ('He said "Go." She went. ', ['He said "Go."', "She went."]),
        ("Dr. Smith met J. R. Jones at 5 p.m. in St. Louis. They ate. ", None),
        ("The U.S. Army of the U.K. did. It was 3.14 at v. low. End. ", None),
        ("Wait... what? Yes. ", ["Wait...", "what?", "Yes."]),
        ("今日は。明日！", ["今日は。", "明日！"]),
        ("no end", []),
        ("", []),
    ],
)
def test_ends(text: str, sentences: list[str] | None) -> None:
    starts = [0, *sentence_ends(text)]
    found = [text[start:end].strip() for start, end in pairwise(starts)]
    if sentences is None:
        assert found[-1] in ("They ate.", "End.")
        assert len(found) <= 3
    else:
        assert found == sentences


def test_what_stands_between_two_cells_belongs_to_neither() -> None:
    row = "2025 | 2,100 | yes"
    assert [row[slice(*sentence_around(row, at, at + 1, (7, 15)))] for at in (0, 7, 15)] == ["2025", "2,100", "yes"]
    assert row[slice(*sentence_around(row, 0, 1))] == row
