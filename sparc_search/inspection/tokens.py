"""The tokens of a passage with their characters, what they are, and how much they weigh at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..encoder import Encoder
from ..records import AFTER_JOINT, CONTINUES, PUNCTUATION, TITLE, Passage, PhraseBlock
from . import weights


@dataclass(frozen=True, slots=True)
class Token:
    """A word piece of a passage, or of the title that was read before it."""

    number: int
    piece: str
    """As the model names it: `dome`, `##s`."""
    text: str
    """Its characters in the passage; of a title token the piece."""
    start: int
    """Its first character in the passage's text, and (`end`) the one after its last; both 0 in the title."""
    end: int
    title: bool
    continues: bool
    """It goes on with the word before it."""
    punctuation: bool
    after_joint: bool
    """It is the first after two paragraphs were joined: no answer goes across."""
    kept_start: bool
    """Phrases that start here are indexed; `kept_end`: that end here."""
    kept_end: bool
    weights: Mapping[str, float]
    """`start_1`, `end_2`, …: the most that the n-gram of that size which begins here weighs for a kept boundary."""
    tfidf: float
    """Its term's tf-idf weight in this passage; 0 for punctuation."""


def tokens_of(passage: Passage, block: PhraseBlock, encoder: Encoder, tfidf: Mapping[int, float]) -> tuple[Token, ...]:
    """Every token of a passage; `tfidf` is by token id."""
    shades = {
        weights.key_of(side, columns.n): weights.largest(columns).tolist() for side, columns in weights.matrices(block)
    }
    starts, ends = set(block.start.positions.tolist()), set(block.end.positions.tolist())
    tokens = []
    rows = zip(block.token_ids.tolist(), block.flags.tolist(), block.offsets.tolist(), strict=True)
    for number, (token_id, flags, (start, end)) in enumerate(rows):
        piece, title, punctuation = encoder.piece(token_id), bool(flags & TITLE), bool(flags & PUNCTUATION)
        tokens.append(
            Token(
                number=number,
                piece=piece,
                text=piece if title else passage.text[start:end],
                start=start,
                end=end,
                title=title,
                continues=bool(flags & CONTINUES),
                punctuation=punctuation,
                after_joint=bool(flags & AFTER_JOINT),
                kept_start=number in starts,
                kept_end=number in ends,
                weights={key: shade[number] for key, shade in shades.items()},
                tfidf=0.0 if punctuation else tfidf.get(token_id, 0.0),
            )
        )
    return tuple(tokens)


def word_of(block: PhraseBlock, number: int) -> tuple[int, int]:
    """The first and the last token of the word that a token is part of."""
    goes_on = (block.flags & CONTINUES) != 0
    first = last = number
    while first and goes_on[first]:
        first -= 1
    while last + 1 < len(goes_on) and goes_on[last + 1]:
        last += 1
    return first, last


def tokens_between(block: PhraseBlock, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token, words made whole, that have characters from `start` to `end`."""
    text = (block.flags & TITLE) == 0
    inside = np.flatnonzero(text & (block.offsets[:, 0] < end) & (block.offsets[:, 1] > start))
    if not len(inside):
        return None
    return word_of(block, int(inside[0]))[0], word_of(block, int(inside[-1]))[1]
