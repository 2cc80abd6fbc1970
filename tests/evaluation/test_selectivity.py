"""How selective the sparse part is, on the toy encoder, whose weights can be looked up."""

from __future__ import annotations

import pytest

from sparc_search.encoder import Encoder
from sparc_search.evaluation.selectivity import SelectivityRow, example, selectivity_rows, summarised
from sparc_search.squad import SquadParagraph, SquadQuestion

TEXT = "The Eiger was first climbed in 1858 by Charles Barrington. The Matterhorn is higher than the Eiger."


def paragraph(answer: str, start: int | None = None) -> SquadParagraph:
    place = TEXT.index(answer) if start is None else start
    return SquadParagraph(TEXT, (SquadQuestion("q", "When was the Eiger first climbed?", (answer,), place),))


def test_gold_and_others_are_what_the_example_takes_apart(toy_encoder: Encoder) -> None:
    asked = paragraph("1858")
    [[row]] = selectivity_rows(toy_encoder, [asked])
    assert row is not None
    ngrams = example(toy_encoder, asked.questions[0], asked)
    assert sum(gold for _, gold, _ in ngrams) == pytest.approx(row.gold)
    assert sum(others for _, _, others in ngrams) == pytest.approx(row.others)
    assert row.gold > 0


def test_an_answer_that_is_not_kept_is_counted_and_not_guessed(toy_encoder: Encoder) -> None:
    asked = paragraph("1858", start=3)
    rows = [row for some in selectivity_rows(toy_encoder, [asked]) for row in some]
    assert rows == [None]
    assert example(toy_encoder, asked.questions[0], asked) == []
    assert summarised(rows).filtered == 1
    assert summarised(rows).questions == 0


def test_the_ratio_is_that_of_the_means() -> None:
    rows = [SelectivityRow("1", "", "", 4.0, 1.0, True, "g"), SelectivityRow("2", "", "", 2.0, 2.0, False, "g")]
    found = summarised([*rows, None])
    assert (found.gold, found.others, found.ratio, found.first, found.filtered) == (3.0, 1.5, 2.0, 50.0, 1)
