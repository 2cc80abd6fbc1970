"""The questions to learn from: read, each once, and what cannot be learned from told apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UsageError
from ..evaluation.answers import normalise
from ..evaluation.questions import OpenQuestion, read_questions


@dataclass(frozen=True, slots=True)
class TuningQuestions:
    """Questions with their answers, each once, and what was left out."""

    questions: tuple[OpenQuestion, ...]
    repeated: int = 0
    """Lines that said again what another had said."""
    unanswered: int = 0
    """Lines without a right answer: somebody only said that an answer was wrong."""
    contradictory: tuple[str, ...] = ()
    """Questions that stand there several times, with answers that have nothing in common."""


def read_asked(paths: Sequence[Path], *, sample: int = 0, seed: int = 0) -> TuningQuestions:
    """The questions of some files; `UsageError` if nothing can be learned from them."""
    read = [question for path in paths for question in read_questions(path)]
    asked = merged(read)
    if not asked.questions:
        why = "answers that contradict each other" if asked.contradictory else "no right answer"
        names = ", ".join(path.name for path in paths)
        raise UsageError(f"the questions of {names} have {why}", "give each question its right answers, in one line")
    return asked


def merged(read: Iterable[OpenQuestion]) -> TuningQuestions:
    """Each question once, with all its answers."""
    by_text: dict[str, OpenQuestion] = {}
    contradictory: dict[str, str] = {}
    repeated = unanswered = 0
    for number, question in enumerate(read):
        key = " ".join(question.text.casefold().split())
        before = by_text.get(key)
        if not (question.answers or question.pattern):
            unanswered += 1
        elif before is None:
            by_text[key] = replace(question, id=f"{number + 1}")
        elif before.pattern != question.pattern or (not _said(before) & _said(question) and not before.pattern):
            contradictory[key] = before.text
        else:
            repeated += 1
            source = before.source if before.source == question.source else ""
            by_text[key] = replace(before, answers=(*before.answers, *question.answers), source=source)
    left = tuple(question for key, question in by_text.items() if key not in contradictory)
    return TuningQuestions(left, repeated, unanswered, tuple(contradictory.values()))


def _said(question: OpenQuestion) -> set[str]:
    return set(map(normalise, question.answers))
