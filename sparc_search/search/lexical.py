"""The question's side of the lexical part: how much each of its words counts in this index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..engine import View
from ..records import EncodedQuestion
from ..stored import Statistics

MOST_COUNTED = 2
"""A word that stands more often in a question weighs no more than one that stands there this often."""


class LexWeight(NamedTuple):
    """A word piece of the question and its weight."""

    id: int
    name: str
    weight: float


def idf(passages: int, containing: int) -> float:
    """How rare a term is, smoothed; above zero even for a term that stands everywhere.

    A count above the number of passages (figures of two moments) is taken as that number.
    """
    containing = min(containing, passages)
    return math.log1p((passages - containing + 0.5) / (containing + 0.5))


def lex_weights(question: EncodedQuestion, statistics: Statistics) -> tuple[LexWeight, ...]:
    """The weight of each of the question's terms: idf times how often it stands there."""
    frequency = statistics.document_frequency
    return tuple(
        LexWeight(
            term.id, term.name, idf(statistics.passages, frequency.get(term.name, 0)) * min(term.count, MOST_COUNTED)
        )
        for term in question.lex_terms
    )


def scaled(lex: Sequence[LexWeight], factor: float) -> tuple[LexWeight, ...]:
    """The same terms, each weighing so many times as much."""
    return tuple(LexWeight(id, name, weight * factor) for id, name, weight in lex)


def look_up(question: EncodedQuestion, view: View) -> Statistics:
    """The counts behind a question's lexical weights."""
    return look_up_many([question], view)


def look_up_many(questions: Sequence[EncodedQuestion], view: View) -> Statistics:
    """The same for several questions, of one state of the index."""
    return view.statistics(list(dict.fromkeys(term.name for question in questions for term in question.lex_terms)))
