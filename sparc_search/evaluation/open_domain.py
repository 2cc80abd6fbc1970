"""Open evaluation: the answer is sought in a whole index, on the path that serves `ask`.

Questions come as SQuAD JSON, as JSON lines (`question`, `answer`: NQ-open, DPR and the sample corpus) or as
CuratedTREC's tab-separated lines (id, type, question, answer as a regular expression).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ReaderError
from ..records import Reply
from .answers import exact_match, f1

CUTS = (1, 5, 10)
"""Answers among which the right one is looked for."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question with its right answers, or with a regular expression that a right answer begins with."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    pattern: str = ""

    def exact_match(self, found: str) -> float:
        """1 if the answer is right."""
        if self.pattern:
            return float(bool(re.match(self.pattern, found, re.IGNORECASE | re.MULTILINE)))
        return exact_match(found, self.answers)

    def f1(self, found: str) -> float:
        """Word overlap; with a pattern there is only right and wrong."""
        return self.exact_match(found) if self.pattern else f1(found, self.answers)


@dataclass(frozen=True, slots=True)
class OpenRow:
    """What was found for one question. `rank` counts answers from 1; 0 if none of them is right."""

    id: str
    question: str
    found: str
    passage_id: str
    source: str
    score: float
    confidence: float | None
    exact_match: float
    f1: float
    rank: int
    seconds: float


@dataclass(frozen=True, slots=True)
class OpenReport:
    """Means over the questions, EM and F1 in percent."""

    questions: int
    exact_match: float
    f1: float
    answer_recall: dict[str, float]
    mean_reciprocal_rank: float
    seconds_per_question: float


def read_questions(path: Path, every: int = 1) -> list[OpenQuestion]:
    """All questions of a file, or every n-th of them, from the first."""
    try:
        text = path.read_text("utf-8")
        questions = list(_questions(path, text))
    except OSError as error:
        raise ReaderError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, re.error) as error:
        raise ReaderError(f"{path} holds no questions: {error!r}", "see `sparc-search evaluate open --help`") from error
    if not questions:
        raise ReaderError(f"{path} holds no questions with answers")
    return questions[::every]


def _questions(path: Path, text: str) -> Iterator[OpenQuestion]:
    if path.suffix == ".tsv":
        return _from_tsv(text)
    if path.suffix == ".jsonl":
        return _from_lines(text)
    return _from_squad(json.loads(text)["data"])


def _from_squad(data: Iterable[dict[str, Any]]) -> Iterator[OpenQuestion]:
    for article in data:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                if qa["answers"]:
                    yield OpenQuestion(str(qa["id"]), qa["question"], tuple(answer["text"] for answer in qa["answers"]))


def _from_lines(text: str) -> Iterator[OpenQuestion]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            row = json.loads(line)
            answers = row["answer"] if "answer" in row else row["answers"]
            given = (answers,) if isinstance(answers, str) else tuple(answers)
            yield OpenQuestion(str(row.get("id", number)), row["question"], given)


def _from_tsv(text: str) -> Iterator[OpenQuestion]:
    for line in text.splitlines():
        if line.strip():
            number, _, question, pattern = line.split("\t", 3)
            re.compile(pattern)
            yield OpenQuestion(number, question, pattern=pattern.strip())


def judge(question: OpenQuestion, reply: Reply) -> OpenRow:
    """How a reply does on a question."""
    right = [number for number, answer in enumerate(reply.answers, 1) if question.exact_match(answer.text)]
    seconds = sum(reply.seconds.values())
    rank = right[0] if right else 0
    if not reply.answers:
        return OpenRow(question.id, question.text, "", "", "", 0.0, None, 0.0, 0.0, 0, seconds)
    best = reply.answers[0]
    return OpenRow(
        question.id,
        question.text,
        best.text,
        best.passage.id,
        best.passage.source,
        best.score,
        best.confidence,
        question.exact_match(best.text),
        question.f1(best.text),
        rank,
        seconds,
    )


def summarise(rows: Sequence[OpenRow], seconds: float) -> OpenReport:
    """Means; `seconds` is the wall time of the whole run."""
    count = max(1, len(rows))
    recall = {f"@{cut}": round(100 * sum(0 < row.rank <= cut for row in rows) / count, 2) for cut in CUTS}
    return OpenReport(
        len(rows),
        round(100 * sum(row.exact_match for row in rows) / count, 2),
        round(100 * sum(row.f1 for row in rows) / count, 2),
        recall,
        round(sum(1 / row.rank for row in rows if row.rank) / count, 4),
        round(seconds / count, 5),
    )
