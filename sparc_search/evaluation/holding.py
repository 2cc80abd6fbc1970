"""Does a text hold the answer? For passage recall, and for the share of questions a corpus can answer at all.

A text holds an answer if the answer's words, normalised as for exact match, stand in it one after another; with a
regular expression, if it is found anywhere in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .answers import normalise
from .needed_texts import folded, needed_texts
from .questions import OpenQuestion, compiled

_BLOCK = 20_000
"""Characters that are looked through at once: a search in one long text is much faster than in many short ones."""


def holds(question: OpenQuestion, text: str) -> bool:
    """Whether a right answer stands in the text."""
    if question.pattern:
        return bool(compiled(question.pattern).search(text))
    words = _words(text)
    return any(needle in words for needle in _needles(question))


def answerable(questions: Iterable[OpenQuestion], texts: Iterable[str]) -> set[str]:
    """Ids of the questions whose answer stands in at least one of the texts."""
    missing = {question.id: question for question in questions}
    plain = {id: _needles(question) for id, question in missing.items() if not question.pattern}
    needed = {id: needed_texts(question.pattern) for id, question in missing.items() if question.pattern}
    answered: set[str] = set()
    for block in _blocks(texts):
        words = [f" {normalise(text)} " for text in block] if plain else []
        joined = "\n".join(words)
        without_case = folded("\n".join(block)) if needed else ""
        hits = {id for id, needles in plain.items() if any(needle in joined for needle in needles)}
        hits |= {
            id
            for id, needles in needed.items()
            if not needles or any(needle in without_case for needle in needles)
            if any(map(compiled(missing[id].pattern).search, block))
        }
        for id in hits:
            for waiting in (missing, plain, needed):
                waiting.pop(id, None)
        answered |= hits
    return answered


@lru_cache(maxsize=4096)
def _words(text: str) -> str:
    """A passage is looked at several times for one question, and again for the next."""
    return f" {normalise(text)} "


def _needles(question: OpenQuestion) -> list[str]:
    normal = (normalise(answer) for answer in question.answers)
    return [f" {answer} " for answer in normal if answer]


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def words_of(text: str) -> set[str]:
    """The words of a text, lower-case."""
    return set(re.findall(r"\w+", text.lower()))
