"""TREC files: another tool reads them and comes to our figures."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest
from ir_measures import RR

from sparc_search.evaluation.open_domain import judge
from sparc_search.evaluation.questions import OpenQuestion
from sparc_search.evaluation.trec_files import judgement_lines, run_lines
from sparc_search.records import Answer, Passage, Reply


def reply(*passages: str) -> Reply:
    answers = (
        Answer("x", 5.0, Passage(text, "d", 0, text), 0, 1, ("sparse",), ())  # all with the same score
        for text in passages
    )
    return Reply("q", tuple(answers), "hybrid", 1, len(passages), {})


PAIRS = [
    (OpenQuestion("q 1", "who", ("Ada",)), reply("by Bob", "by Eve", "by Ada", "Ada Ada")),
    (OpenQuestion("q2", "who", ("Eve",)), reply("by Eve", "by Bob")),
    (OpenQuestion("q3", "who", ("Kim",)), reply("by Bob", "by Bob")),
]


def test_the_format() -> None:
    lines = list(run_lines(PAIRS, "my run"))
    assert lines[0] == "q_1 Q0 by_Bob 1 5.000000 my_run"
    assert lines[1].startswith("q_1 Q0 by_Eve 2 4.999999")  # ties are broken by the rank
    assert len(lines) == 4 + 2 + 1
    assert list(judgement_lines(PAIRS))[2] == "q_1 0 by_Ada 1"


def test_ir_measures_agrees(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("\n".join(run_lines(PAIRS, "x")))
    (tmp_path / "qrels").write_text("\n".join(judgement_lines(PAIRS)))
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    theirs = ir_measures.calc_aggregate([RR], qrels, run)[RR]
    ranks = [judge(*pair).passage_rank for pair in PAIRS]
    assert ranks == [3, 1, 0]
    assert theirs == pytest.approx(sum(1 / rank for rank in ranks if rank) / len(ranks))
