"""What a cross-encoder thinks of every training question, for a student to learn from (`training.teacher`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..records import Passage
from ..training.teacher import key_of, top_shares
from .data import NO_ANSWER, Asked
from .reading import CrossEncoder

Row = tuple[np.uint64, NDArray[np.int64], NDArray[np.float32]]
_AT_ONCE = 512


def opinions(reader: CrossEncoder, asked: Sequence[Asked], keep: int) -> Iterator[list[Row]]:
    """Key, likeliest starts and ends, and their log probabilities, of questions with an answer; some at a time."""
    answered = [question for question in asked if question.start != NO_ANSWER]
    for at in range(0, len(answered), _AT_ONCE):
        rows = [(question, word_logits(reader, question)) for question in answered[at : at + _AT_ONCE]]
        yield [
            (key_of(question.question.text, question.text), *top_shares(logits, keep))
            for question, logits in rows
            if len(logits)
        ]


def word_logits(reader: CrossEncoder, asked: Asked) -> NDArray[np.float32]:
    """Start and end logits (N, 2) of the word pieces of a question's whole paragraph."""
    [logits] = reader.logits(asked.question.text, [Passage("", "", 0, asked.text, title=asked.title)])
    return logits.words
