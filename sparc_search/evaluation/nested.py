"""Corpora of growing size, each holding the one before: for figures against the size of a corpus.

The paragraphs with the answers are in the smallest one, so every size is asked the same questions, and only the
number of distractors grows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

from ..errors import UsageError
from .questions import OpenQuestion


@dataclass(frozen=True, slots=True)
class TitledText:
    """A paragraph with its title."""

    title: str
    text: str


def nested(
    gold: Sequence[TitledText], others: Iterable[TitledText], sizes: Sequence[int]
) -> Iterator[list[TitledText]]:
    """What each size adds to the one before; the last ones are missing if there are not enough paragraphs."""
    if len(gold) > sizes[0]:
        raise UsageError(
            f"{len(gold)} paragraphs hold the answers, more than the smallest corpus of {sizes[0]}",
            "ask fewer questions, or begin with a larger size",
        )
    stream = _once(chain(gold, others))
    for before, size in pairwise((0, *sizes)):
        part = list(islice(stream, size - before))
        if not part:
            return
        yield part


def _once(paragraphs: Iterable[TitledText]) -> Iterator[TitledText]:
    seen: set[str] = set()
    for paragraph in paragraphs:
        if paragraph.text not in seen:
            seen.add(paragraph.text)
            yield paragraph


def gold_of(questions: Iterable[OpenQuestion], paragraphs: Iterable[TitledText]) -> list[TitledText]:
    """The paragraphs the questions were asked on, each once; with their titles, if they are among these."""
    titles = {paragraph.text: paragraph.title for paragraph in paragraphs}
    contexts = dict.fromkeys(question.context.strip() for question in questions)
    return [TitledText(titles.get(context, ""), context) for context in contexts if context]


def as_lines(part: Iterable[TitledText], name: str) -> Iterator[str]:
    """JSON lines that `ingest` reads; every paragraph is a document of its own."""
    for number, text in enumerate(part):
        yield json.dumps({"id": f"{name}-{number}", "title": text.title, "text": text.text}, ensure_ascii=False)
