"""Whether each question is what it says: its file is in the corpus, an accepted answer stands at the named place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sparc_search.errors import SparcSearchError

from .judging import matches
from .places import place_text
from .records import ABSENT, CATEGORIES, Place, Question, packages


def problems(questions: Iterable[Question], corpus: Path) -> Iterator[str]:
    """What is wrong with them, a line for each."""
    files = {(package.name, package.version, path) for package in packages() for path in package.paths()}
    seen = set[str]()
    for question in questions:
        for problem in _problems(question, corpus, files):
            yield f"{question.id}: {problem}"
        if question.id in seen:
            yield f"{question.id}: a second question of this id"
        seen.add(question.id)


def _problems(question: Question, corpus: Path, files: set[tuple[str, str, str]]) -> Iterator[str]:
    if question.category not in CATEGORIES:
        yield f"unknown category {question.category!r}"
    if bool(question.places) == (question.category == ABSENT) or bool(question.places) != bool(question.answers):
        yield f"a question has answers and a place, or is one that is {ABSENT!r}"
    for place in question.places:
        if (place.package, place.version, place.file) not in files:
            yield f"{place.file} is not in the corpus"
        else:
            yield from _place_problems(question, place, corpus)


def _place_problems(question: Question, place: Place, corpus: Path) -> Iterator[str]:
    try:
        text = place_text(place, corpus)
    except (SparcSearchError, OSError, IndexError) as error:
        yield str(error)
        return
    if not any(matches(text, question.answers)):
        yield f"no accepted answer at {place.heading or place.page!r} of {place.file}"
