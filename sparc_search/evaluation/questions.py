"""Question files: SQuAD JSON, DPR JSON, JSON lines, tab-separated lines; each also with .gz.

| ending | what | who writes it |
|---|---|---|
| .json | an object with `data` (SQuAD), or a list of objects with `question` and `answers` | SQuAD, DPR |
| .jsonl, .txt | an object a line: `question`, and `answer` or `answers`, perhaps `source` | NQ-open, DPR, DrQA |
| .jsonl with `verdict` | the same; without an answer if a user only said that one was wrong | the pages of `serve` |
| .tsv with 4 columns | id, type, question, answer as a regular expression | CuratedTREC |
| .tsv, .csv with 2 columns | question, and a list of answers in Python's notation | DPR's `qas` files |
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ReaderError
from ..squad import Article, paragraphs_of
from .answers import exact_match, f1

_FLAGS = re.IGNORECASE | re.MULTILINE

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question with its right answers, or with a regular expression that a right answer begins with."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    pattern: str = ""
    context: str = ""
    """The paragraph it was asked on, if the file has it."""
    source: str = ""
    """Where its answer stands, if the file says so."""

    def exact_match(self, found: str) -> float:
        """1 if the answer is right."""
        if self.pattern:
            return float(bool(compiled(self.pattern).match(found)))
        return exact_match(found, self.answers)

    def f1(self, found: str) -> float:
        """Word overlap; with a pattern there is only right and wrong."""
        return self.exact_match(found) if self.pattern else f1(found, self.answers)

    @property
    def gold(self) -> tuple[str, ...]:
        """The right answers (or the pattern), each once, as they are shown."""
        return tuple(dict.fromkeys(self.answers)) or ((self.pattern,) if self.pattern else ())


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, without case, as CuratedTREC's users compile it."""
    return re.compile(pattern, _FLAGS)


def read_questions(
    path: Path, every: int = 1, *, regex: bool = False, sample: int = 0, seed: int = 0
) -> list[OpenQuestion]:
    """The questions of a file: every n-th from the first, and of these `sample` by chance (0: all), in their order.

    With `regex`, answers of JSON lines are regular expressions.
    """
    try:
        questions = list(_questions(path, _text(path)))
        if regex:
            questions = [_with_pattern(question) for question in questions]
    except OSError as error:
        raise ReaderError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, SyntaxError, EOFError, re.error) as error:
        raise ReaderError(f"{path} holds no questions: {error!r}", "see `sparc-search evaluate open --help`") from error
    if not questions:
        raise ReaderError(f"{path} holds no questions with answers")
    return drawn(questions[::every], sample, seed)


def drawn(items: list[Item], sample: int, seed: int) -> list[Item]:
    """So many of them by chance, in their order; all if `sample` is 0."""
    if not 0 < sample < len(items):
        return items
    return [items[at] for at in sorted(random.Random(seed).sample(range(len(items)), sample))]


def _text(path: Path) -> str:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8-sig")


def _questions(path: Path, text: str) -> Iterator[OpenQuestion]:
    ending = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if ending in (".tsv", ".csv"):
        return _from_columns(text)
    if ending in (".jsonl", ".txt"):
        return _from_objects(json.loads(line) for line in text.split("\n") if line.strip())
    value = json.loads(text)
    return _from_objects(value) if isinstance(value, list) else _from_squad(value["data"])


def _from_squad(data: Iterable[Article]) -> Iterator[OpenQuestion]:
    for article in data:
        for paragraph in paragraphs_of(article):
            for asked in paragraph.questions:
                if asked.answers:
                    yield OpenQuestion(asked.id, asked.text, asked.answers, context=paragraph.text)


def _from_objects(rows: Iterable[dict[str, Any]]) -> Iterator[OpenQuestion]:
    for number, row in enumerate(rows, 1):
        answers = row["answer"] if "answer" in row else row.get("answers", ()) if "verdict" in row else row["answers"]
        given = (answers,) if isinstance(answers, str) else tuple(map(str, answers))
        source = str(row.get("source") or "")
        yield OpenQuestion(str(row.get("id", number)), str(row["question"]), given, source=source)


def _from_columns(text: str) -> Iterator[OpenQuestion]:
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.rstrip("\r").split("\t", 3)
        if len(columns) == 2:
            yield OpenQuestion(str(number), columns[0], tuple(map(str, ast.literal_eval(columns[1]))))
        elif line.strip():
            id, _, question, pattern = columns
            compiled(pattern.strip())
            yield OpenQuestion(id, question, pattern=pattern.strip())


def _with_pattern(question: OpenQuestion) -> OpenQuestion:
    if question.pattern:
        return question
    pattern = "|".join(f"(?:{answer})" for answer in question.answers)
    compiled(pattern)
    return OpenQuestion(question.id, question.text, pattern=pattern)
