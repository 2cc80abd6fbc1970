"""What a cross-encoder thinks of every training question, for a student to learn from (`training.teacher`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.encoding import batches_by_length
from ..model.tokenizer import Pieces
from ..training.teacher import key_of, top_shares
from .data import NO_ANSWER, Asked
from .reading import BATCH_TOKENS, CrossEncoder, joined, padded

Row = tuple[np.uint64, NDArray[np.int64], NDArray[np.float32]]
_AT_ONCE = 512


def opinions(reader: CrossEncoder, asked: Sequence[Asked], keep: int) -> Iterator[list[Row]]:
    """Key, likeliest starts and ends, and their log probabilities, of questions with an answer; some at a time."""
    answered = [one for one in asked if one.start != NO_ANSWER]
    for at in range(0, len(answered), _AT_ONCE):
        some = answered[at : at + _AT_ONCE]
        logits = word_logits(reader, some)
        yield [
            (key_of(one.question.text, one.text), *top_shares(found, keep))
            for one, found in zip(some, logits, strict=True)
            if len(found)
        ]


def word_logits(reader: CrossEncoder, some: Sequence[Asked]) -> list[NDArray[np.float32]]:
    """Start and end logits (N, 2) of the word pieces of each question's whole paragraph."""
    card, pieces = reader.card, reader.pieces
    questions = [found.ids[: card.question_window - 2] for found in pieces([one.question.text for one in some])]
    texts = pieces([one.text for one in some])
    rows = [
        (number, first, part)
        for number, (question, text) in enumerate(zip(questions, texts, strict=True))
        for first, part in windows(text, card.window - 3 - len(question), card.longest_answer)
    ]
    found = [np.full((len(text.ids), 2), -np.inf, np.float32) for text in texts]
    for chosen in batches_by_length([len(questions[number]) + len(part) + 3 for number, _, part in rows], BATCH_TOKENS):
        batch = [rows[row] for row in chosen]
        logits = reader.network(
            *padded([joined(questions[number], part, pieces) for number, _, part in batch], pieces.pad)
        )
        for (number, first, part), scores in zip(batch, logits, strict=True):
            words = scores[len(questions[number]) + 2 :][: len(part)]
            place = found[number][first : first + len(part)]
            np.maximum(place, words, out=place)
    return found


def windows(text: Pieces, room: int, overlap: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Parts of a text that fit, with the number of their first word piece; neighbours share half a longest answer."""
    step = max(1, room - overlap // 2)
    for first in range(0, max(1, len(text.ids) - (room - step)), step):
        yield first, text.ids[first : first + room]
