"""What a cross-encoder thinks of every training question, for a student to learn from (`training.teacher`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..records import Passage
from ..training.teacher import key_of, top_shares
from .data import NO_ANSWER, PlacedQuestion
from .reading import CrossEncoder

Row = tuple[np.uint64, NDArray[np.int64], NDArray[np.float32]]
_AT_ONCE = 512


def share_of(asked: Sequence[PlacedQuestion], share: float) -> list[PlacedQuestion]:
    """Some of the questions with an answer: reading takes long. Which, follows from their texts alone."""
    most = share * 2.0**64
    answered = (question for question in asked if question.start != NO_ANSWER)
    return [question for question in answered if float(key_of(question.question.text, question.text)) < most]


def opinions(reader: CrossEncoder, asked: Sequence[PlacedQuestion], keep: int) -> Iterator[list[Row]]:
    """Key, likeliest starts and ends, and their log probabilities, of questions with an answer; some at a time."""
    for at in range(0, len(asked), _AT_ONCE):
        rows = [(question, word_logits(reader, question)) for question in asked[at : at + _AT_ONCE]]
        yield [
            (key_of(question.question.text, question.text), *top_shares(logits, keep))
            for question, logits in rows
            if len(logits)
        ]


def word_logits(reader: CrossEncoder, asked: PlacedQuestion) -> NDArray[np.float32]:
    """Start and end logits (N, 2) of the word pieces of a question's whole paragraph."""
    [logits] = reader.logits(asked.question.text, [Passage("", "", 0, asked.text, title=asked.title)])
    return logits.words
