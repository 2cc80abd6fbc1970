"""A cross-encoder reads passages for a question (onnxruntime).

The score of a span is its start logit + its end logit, with no softmax in each passage, so that passages can be
compared. Passages longer than the window are read in windows that overlap by half a longest answer. Windows of like
length share a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged
from ..model.encoding import batches_by_length
from ..model.tokenizer import Pieces, WordPieces
from ..records import CONTINUES, PUNCTUATION, Passage
from .files import NETWORK, CrossEncoderCard, read_card

BATCH_TOKENS = 4096
_PER_PASSAGE = 5
"""Spans of one passage that can become answers."""

Logits = NDArray[np.float32]


class Network(Protocol):
    """Token ids and mask (B, T) -> start and end logits (B, T, 2)."""

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Logits:
        """Run it on a padded batch."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a passage that is read at once."""

    passage: int
    first: int
    """Its first word piece in the passage."""
    pieces: Pieces


@dataclass(frozen=True, slots=True)
class Span:
    """A phrase of a passage and its score."""

    passage: int
    start: int
    """Characters of the passage's text."""
    end: int
    score: float
    nothing: float = 0.0
    """What "no answer here" scores where it was read; above `score`, the reader believes that."""


class CrossEncoder:
    """Reads passages for a question."""

    def __init__(self, card: CrossEncoderCard, pieces: WordPieces, network: Network) -> None:
        self.card, self.pieces, self.network = card, pieces, network

    def read(self, question: str, passages: Sequence[Passage]) -> list[Span]:
        """The best spans of each passage, best first, before any mixing."""
        asked = self.pieces([question])[0].ids[: self.card.question_window - 2]
        windows = list(self._windows(passages, self.card.window - 3 - len(asked)))
        spans: list[Span] = []
        for rows in batches_by_length([len(window.pieces.ids) + len(asked) + 1 for window in windows], BATCH_TOKENS):
            batch = [windows[row] for row in rows]
            logits = self.network(*self._rows(asked, batch))
            for window, scores in zip(batch, logits, strict=True):
                words = scores[len(asked) + 2 : len(asked) + 2 + len(window.pieces.ids)]
                spans += best_spans(window, words, self.card.longest_answer, float(scores[0].sum()))
        return sorted(set(spans), key=lambda span: (-span.score, span.passage, span.start, span.end))

    def _windows(self, passages: Sequence[Passage], room: int) -> Iterator[Window]:
        step = max(1, room - self.card.longest_answer // 2)
        for number, pieces in enumerate(self.pieces([passage.text for passage in passages])):
            length = len(pieces.ids)
            for first in range(0, max(1, length - (room - step)), step):
                part = slice(first, first + room)
                yield Window(number, first, Pieces(pieces.ids[part], pieces.offsets[part], pieces.flags[part]))

    def _rows(self, asked: NDArray[np.int32], windows: Sequence[Window]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return padded([joined(asked, window.pieces.ids, self.pieces) for window in windows], self.pieces.pad)


def joined(question: NDArray[np.int32], passage: NDArray[np.int32], pieces: WordPieces) -> NDArray[np.int32]:
    """`[CLS] question [SEP] passage [SEP]`."""
    return np.concatenate([[pieces.cls], question, [pieces.sep], passage, [pieces.sep]]).astype(np.int32)


def padded(rows: Sequence[NDArray[np.int32]], pad: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of token ids as one array, and its mask."""
    ids = np.full((len(rows), max(map(len, rows))), pad, np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row, 1
    return ids, mask


def best_spans(window: Window, logits: Logits, longest: int, nothing: float = 0.0) -> list[Span]:
    """The best legal spans of a window: whole words, not too long, not punctuation alone."""
    count, flags = len(window.pieces.ids), window.pieces.flags
    if not count:
        return []
    continues = np.append((flags & CONTINUES) > 0, False)
    marks = np.concatenate([[0], np.cumsum((flags & PUNCTUATION) > 0)])
    starts, lengths = np.meshgrid(np.arange(count), np.arange(longest), indexing="ij")
    ends = starts + lengths
    legal = ends < count
    ends = np.minimum(ends, count - 1)
    legal &= ~continues[starts] & ~continues[ends + 1] & (marks[ends + 1] - marks[starts] < lengths + 1)
    scores = np.where(legal, logits[starts, 0].astype(np.float64) + logits[ends, 1], -np.inf).ravel()
    chosen = np.argsort(-scores, kind="stable")[:_PER_PASSAGE]
    offsets = window.pieces.offsets
    return [
        Span(
            window.passage, int(offsets[starts.flat[at], 0]), int(offsets[ends.flat[at], 1]), float(scores[at]), nothing
        )
        for at in chosen
        if np.isfinite(scores[at])
    ]


def open_cross_encoder(folder: Path, *, threads: int = 0) -> CrossEncoder:
    """A reader that `train-reader` made."""
    import onnxruntime

    card = read_card(folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(folder / NETWORK), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has many of its own; the hash was right, so the file was made wrong
        raise ModelDamaged(f"{folder / NETWORK} cannot be loaded: {error}", "train the reader again") from error

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Logits:
        logits: Logits = session.run(["logits"], {"ids": ids, "mask": mask})[0]
        return logits

    return CrossEncoder(card, WordPieces.load(folder), run)
