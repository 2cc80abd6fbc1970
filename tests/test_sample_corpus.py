"""Acceptance: the model in the box, on the sample corpus, through the commands a user types.

The thresholds are a little below what was measured (docs/benchmarks.md); a change that loses answers shows here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparc_search.evaluation.open_domain import OpenRow, judge
from sparc_search.evaluation.questions import read_questions
from sparc_search.index import Index

EXAMPLES = Path(__file__).parent.parent / "examples"
ONE_WORD = ("Paris", "1889", "Elbrus", "saxophone", "42", "yes", "?", "the", "Suez Canal", "He was born in 1814.")


def sparc_search(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sparc_search.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The sample corpus, and beside it a few passages of one word or one sentence."""
    folder = tmp_path_factory.mktemp("sample")
    short = folder / "short.jsonl"
    short.write_text("\n".join(json.dumps({"id": f"short-{n}", "text": text}) for n, text in enumerate(ONE_WORD)))
    done = sparc_search("ingest", "--json", EXAMPLES / "corpus", short, "--index", folder / "index")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rejected"] == 0
    with Index.open(folder / "index") as opened:
        yield opened


@pytest.fixture(scope="module")
def rows(index: Index) -> list[OpenRow]:
    questions = read_questions(EXAMPLES / "questions.jsonl")
    replies = index.ask_many((question.text for question in questions), k=5)
    return [judge(question, reply) for question, reply in zip(questions, replies, strict=True)]


@pytest.mark.slow
def test_most_answers_are_right(rows: list[OpenRow]) -> None:
    assert sum(row.exact_match for row in rows) / len(rows) >= 0.60
    assert sum(0 < row.rank <= 5 for row in rows) / len(rows) >= 0.80


@pytest.mark.slow
def test_short_passages_do_not_win_by_their_length(rows: list[OpenRow]) -> None:
    winners = [row for row in rows if row.source.endswith("short.jsonl") and not row.exact_match]
    assert len(winners) <= len(rows) * 0.02


@pytest.mark.slow
def test_every_part_of_a_score_is_shown(index: Index) -> None:
    best = index.ask("Who invented the saxophone?", explain=True).best
    assert best is not None
    assert best.text == "Adolphe Sax"
    assert sum(part.value for part in best.parts) == pytest.approx(best.score, rel=1e-12)
