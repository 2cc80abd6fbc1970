"""A cross-encoder reads passages for a question (onnxruntime), one passage at a time.

The score of a span is its start logit + its end logit, with no softmax in each passage, so that passages can be
compared. Passages longer than the window are read in windows that overlap by half a longest answer. What it makes of a
passage does not depend on the other passages of a question: an int8 network, whose scales come from what it is given,
gives the same numbers in any company.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.tokenizer import Pieces, WordPieces
from ..records import CONTINUES, PUNCTUATION, Passage
from .files import NETWORK, CrossEncoderCard, read_card

_PER_PASSAGE = 5
"""Spans of one passage that can become answers."""

Ids = NDArray[np.int32]
Logits = NDArray[np.float32]


class ReaderNetwork(Protocol):
    """Token ids and mask (B, T) -> start and end logits (B, T, 2)."""

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Logits:
        """Run it on a padded batch."""


@dataclass(frozen=True, slots=True)
class PassageLogits:
    """What a reader makes of a passage."""

    pieces: Pieces
    """The word pieces of its text."""
    words: Logits  # (pieces, 2) start and end
    nothing: float
    """What "no answer here" scores."""


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """A phrase of a passage and its score."""

    passage: int
    start: int
    """Characters of the passage's text."""
    end: int
    score: float
    nothing: float = 0.0
    """What "no answer here" scores where it was read; above `score`, the reader believes that."""


class CrossEncoder:
    """Reads passages for a question. Threads may share it."""

    def __init__(self, card: CrossEncoderCard, pieces: WordPieces, network: ReaderNetwork) -> None:
        self.card, self.pieces, self.network = card, pieces, network

    def read(self, question: str, passages: Sequence[Passage]) -> list[ReadSpan]:
        """The best spans of each passage, best first, before any mixing."""
        spans = [
            span
            for number, logits in enumerate(self.logits(question, passages))
            for span in best_spans(number, logits, self.card.longest_answer)
        ]
        return sorted(spans, key=lambda span: (-span.score, span.passage, span.start, span.end))

    def logits(self, question: str, passages: Sequence[Passage]) -> Iterator[PassageLogits]:
        """What it makes of each passage, one after the other."""
        asked = self.pieces([question])[0].ids[: self.card.question_window - 2]
        titles = self.pieces([passage.title for passage in passages])
        texts = self.pieces([passage.text for passage in passages])
        for title, text in zip(titles, texts, strict=True):
            yield self._passage_logits(
                before_passage(asked, title.ids[: self.card.title_window], self.pieces.sep), text
            )

    def _passage_logits(self, before: Ids, text: Pieces) -> PassageLogits:
        words = np.full((len(text.ids), 2), -np.inf, np.float32)
        nothing = np.inf
        for first, part in windows(text.ids, self.card.window - 3 - len(before), self.card.longest_answer):
            [scores] = self.network(*padded([joined(before, part, self.pieces)], self.pieces.pad))
            place = words[first : first + len(part)]
            np.maximum(place, scores[len(before) + 2 :][: len(part)], out=place)
            nothing = min(nothing, float(scores[0].sum()))  # one window with an answer is enough
        return PassageLogits(text, words, nothing)


def windows(ids: Ids, room: int, longest: int) -> Iterator[tuple[int, Ids]]:
    """Parts of a text that fit, with the number of their first word piece; neighbours share half a longest answer."""
    step = max(1, room - longest // 2)
    for first in range(0, max(1, len(ids) - (room - step)), step):
        yield first, ids[first : first + room]


def before_passage(question: Ids, title: Ids, sep: int) -> Ids:
    """`question [SEP] title`, or the question alone where there is no title."""
    return np.concatenate([question, [sep], title]).astype(np.int32) if len(title) else question


def joined(before: Ids, passage: Ids, pieces: WordPieces) -> Ids:
    """`[CLS] before [SEP] passage [SEP]`."""
    return np.concatenate([[pieces.cls], before, [pieces.sep], passage, [pieces.sep]]).astype(np.int32)


def padded(rows: Sequence[Ids], pad: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of token ids as one array, and its mask."""
    ids = np.full((len(rows), max(map(len, rows))), pad, np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row, 1
    return ids, mask


def best_spans(passage: int, logits: PassageLogits, longest: int) -> list[ReadSpan]:
    """The best legal spans of a passage: whole words, not too long, not punctuation alone."""
    count, flags = len(logits.pieces.ids), logits.pieces.flags
    if not count:
        return []
    continues = np.append((flags & CONTINUES) > 0, False)
    marks = np.concatenate([[0], np.cumsum((flags & PUNCTUATION) > 0)])
    starts, lengths = np.meshgrid(np.arange(count), np.arange(longest), indexing="ij")
    ends = starts + lengths
    legal = ends < count
    ends = np.minimum(ends, count - 1)
    legal &= ~continues[starts] & ~continues[ends + 1] & (marks[ends + 1] - marks[starts] < lengths + 1)
    scores = np.where(legal, logits.words[starts, 0].astype(np.float64) + logits.words[ends, 1], -np.inf).ravel()
    chosen = [at for at in np.argsort(-scores, kind="stable")[:_PER_PASSAGE] if np.isfinite(scores[at])]
    offsets = logits.pieces.offsets
    first, last = offsets[starts.flat[chosen], 0].tolist(), offsets[ends.flat[chosen], 1].tolist()
    best = scores[chosen].tolist()
    return [ReadSpan(passage, *span, logits.nothing) for span in zip(first, last, best, strict=True)]


def open_cross_encoder(folder: Path, *, threads: int = 0) -> CrossEncoder:
    """A reader that `train-reader` made."""
    from ..model.encoder_onnx import open_session

    card = read_card(folder)
    session = open_session(folder / NETWORK, threads)

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Logits:
        logits: Logits = session.run(["logits"], {"ids": ids, "mask": mask})[0]
        return logits

    return CrossEncoder(card, WordPieces.load(folder), run)
