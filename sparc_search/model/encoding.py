"""What the `torch` and the `onnx` encoder share: cutting texts into batches, and everything after the network.

An encoder only has to run the network on padded token ids. Batches are made of like lengths and bounded by tokens;
the result of one text never depends on the others in its batch (beyond float noise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..encoder import Encoder
from ..records import ARROW, PUNCTUATION, SIDES, TITLE, EncodedPassage, EncodedQuestion, Passage
from .after_network import AfterNetwork, PassageArrays, QuestionArrays
from .config import SparcConfig
from .tokenizer import Pieces, WordPieces

Outputs = Mapping[str, NDArray[np.float32]]
"""Names as in `output_names`; the first axis is the batch."""


Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Network(Protocol):
    """Runs the network: token ids (B, T) and mask (B, T) -> named outputs."""

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        """Run it on a padded batch."""


class BatchTokens(NamedTuple):
    """Most tokens of a batch, with padding; with 1 every text is a batch of its own."""

    passages: int
    questions: int


LARGE_BATCHES = BatchTokens(4096, 4096)


PASSAGE_OUTPUTS = ("start", "end", "span_start", "span_end", "pooled", "filter")
QUESTION_OUTPUTS = ("question_start", "question_end", "question_pooled")


def sparse_names(config: SparcConfig) -> list[str]:
    """`start_1`, `start_2`, `end_1`, `end_2`: one for each side and n-gram size."""
    return [f"{side}_{n}" for side in SIDES for n in config.ngrams]


class NetworkEncoder(Encoder):
    """An encoder over any `Network`."""

    additive = True  # a BERT-like tokenizer looks at one word at a time

    def __init__(
        self,
        config: SparcConfig,
        pieces: WordPieces,
        passage_network: Network,
        question_network: Network,
        fingerprint: str,
        batch_tokens: BatchTokens = LARGE_BATCHES,
        card: Mapping[str, Any] | None = None,
        workers: int = 1,
    ) -> None:
        self.config, self.pieces = config, pieces
        self._passage_network, self._question_network = passage_network, question_network
        self._after = AfterNetwork(config, pieces)
        self._keeping_all = AfterNetwork(replace(config, filter_thresholds=(-np.inf, -np.inf)), pieces)
        self._batch_tokens, self._workers = batch_tokens, workers
        self.fingerprint = fingerprint
        self.untuned_questions: Network | None = None  # beside a tuned side, the one before
        self.card = dict(card or {})
        self.window, self.ngrams = config.window - 2, config.ngrams

    def prepare(self) -> None:
        """Load what is loaded at the first use, so that the first question need not wait for it."""
        self.encode_questions(["?"])

    def in_batches_of(self, tokens: int) -> NetworkEncoder:
        """The same encoder with other batches of passages; one that must take them singly still does."""
        passages, questions = self._batch_tokens
        other = copy(self)
        other._batch_tokens = BatchTokens(1 if passages == 1 else tokens, questions)
        return other

    def untuned(self) -> NetworkEncoder:
        """The same encoder with the question side of before, if it was tuned."""
        if self.untuned_questions is None:
            return self
        other = copy(self)
        other._question_network, other.tuned = self.untuned_questions, ""
        return other

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the word pieces of `text`."""
        return self.pieces.offsets(text)

    def token_count(self, text: str) -> int:
        """How many word pieces `text` has."""
        return self.pieces.count(text)

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages. What is beyond the window is not read; `loaders` cut before."""
        return self._encoded(passages, self._after)

    def encode_unfiltered(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages without dropping a token: to look at what the filter left out."""
        return self._encoded(passages, self._keeping_all)

    def piece(self, token_id: int) -> str:
        """The word piece of a token id."""
        return self.pieces.piece(token_id)

    def word_pieces(self, text: str) -> list[str]:
        """The word pieces of a text."""
        return [self.pieces.piece(token_id) for token_id in self.pieces([text])[0].ids.tolist()]

    def _encoded(self, passages: Sequence[Passage], after: AfterNetwork) -> list[EncodedPassage]:
        titles = self.pieces([passage.title for passage in passages])
        texts = [
            with_title(self._read_of_title(title), cut(text, self.window), self.pieces.sep)
            for title, text in zip(titles, self.pieces([text_read(passage) for passage in passages]), strict=True)
        ]

        def encode(rows: list[int]) -> list[tuple[int, EncodedPassage]]:
            outputs = self._run(self._passage_network, [texts[row] for row in rows])
            names = sparse_names(self.config)
            return [
                (
                    row,
                    after.passage(
                        passages[row], texts[row], titles[row], passage_arrays(outputs, at, len(texts[row].ids), names)
                    ),
                )
                for at, row in enumerate(rows)
            ]

        batches = list(batches_by_length([len(text.ids) for text in texts], self._batch_tokens.passages))
        encoded = dict(row for rows in self._each(encode, batches) for row in rows)
        return [encoded[row] for row in range(len(passages))]

    def _read_of_title(self, title: Pieces) -> Pieces:
        """As much of a title path as the network reads of it."""
        chosen = kept_of_path(title.ids.tolist(), self._arrow, self.config.title_window)
        return Pieces(title.ids[chosen], title.offsets[chosen], title.flags[chosen])

    @cached_property
    def _arrow(self) -> int:
        """The word piece between the parts of a title path; -1 if the tokenizer leaves it out."""
        return next(iter(self.pieces([ARROW])[0].ids.tolist()), -1)

    def _each(self, action: Callable[[Batch], Result], batches: Sequence[Batch]) -> Iterator[Result]:
        """Do it to each batch, several at a time where the network lets several run side by side."""
        if self._workers == 1 or len(batches) < 2:
            yield from map(action, batches)
            return
        with ThreadPoolExecutor(self._workers) as pool:
            yield from pool.map(action, batches)

    def question_pieces(self, questions: Sequence[str]) -> list[Pieces]:
        """What the network reads of questions: of one longer than the question window, the beginning."""
        return [cut(pieces, self.config.question_window - 2) for pieces in self.pieces(questions)]

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """Encode questions."""
        texts = self.question_pieces(questions)
        encoded: dict[int, EncodedQuestion] = {}
        for rows in batches_by_length([len(text.ids) for text in texts], self._batch_tokens.questions):
            outputs = self._run(self._question_network, [texts[row] for row in rows])
            for at, row in enumerate(rows):
                arrays = question_arrays(outputs, at, len(texts[row].ids), sparse_names(self.config))
                encoded[row] = self._after.question(questions[row], texts[row], arrays)
        return [encoded[row] for row in range(len(questions))]

    def _run(self, network: Network, texts: Sequence[Pieces]) -> Outputs:
        return network(*padded(texts, self.pieces))


def padded(texts: Sequence[Pieces], pieces: WordPieces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask of a batch, a text a row, between [CLS] and [SEP]."""
    width = max(len(text.ids) for text in texts) + 2
    ids = np.full((len(texts), width), pieces.pad, np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        length = len(text.ids)
        ids[row, 0], ids[row, 1 : length + 1], ids[row, length + 1] = pieces.cls, text.ids, pieces.sep
        mask[row, : length + 2] = 1
    return ids, mask


def text_read(passage: Passage) -> str:
    """The text that the network reads."""
    return passage.text if passage.encoded_text is None else passage.encoded_text


def kept_of_path(ids: Sequence[int], arrow: int, most: int) -> list[int]:
    """Which pieces of a title path are read if they are too many: the last headings, and the title's beginning.

    The heading next to the passage says most of it, and the title says which document it is; what is between them goes
    first. What the headings leave free is the title's.
    """
    if len(ids) <= most:
        return list(range(len(ids)))
    breaks = [at for at, piece in enumerate(ids) if piece == arrow]
    if not breaks:
        return list(range(most))
    room = most - min(breaks[0], most // 3)
    first = len(ids)  # of the headings that are kept, with the arrow before them
    for at in reversed(breaks):
        if len(ids) - at > room:
            break
        first = at
    tail = list(range(first, len(ids))) or list(range(breaks[-1], breaks[-1] + room))
    return [*range(min(breaks[0], most - len(tail))), *tail]


def cut(pieces: Pieces, most: int) -> Pieces:
    """The first `most` pieces."""
    return Pieces(pieces.ids[:most], pieces.offsets[:most], pieces.flags[:most])


def with_title(title: Pieces, text: Pieces, sep: int) -> Pieces:
    """What the network reads of a passage: its title and a [SEP], if there is a title, and the text."""
    if not len(title.ids):
        return text
    return Pieces(
        np.concatenate([title.ids, [sep], text.ids]).astype(np.int32),
        np.concatenate([np.zeros((len(title.ids) + 1, 2), np.int32), text.offsets]),
        np.concatenate([title.flags | TITLE, [TITLE | PUNCTUATION], text.flags]).astype(np.uint8),
    )


def batches_by_length(lengths: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Row numbers in batches of like length, each of at most `most_tokens` with its padding (or one row)."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: (lengths[row], row)):
        if batch and (len(batch) + 1) * (lengths[row] + 2) > most_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def passage_arrays(outputs: Outputs, row: int, length: int, names: Sequence[str]) -> PassageArrays:
    """One passage out of a batch, without special tokens and padding."""
    words = slice(1, length + 1)
    token_outputs = (outputs[name][row, words] for name in ("start", "end", "span_start", "span_end"))
    start, end, span_start, span_end = token_outputs
    attention = {name: outputs[name][row, words, words] for name in names}
    return PassageArrays(
        start, end, span_start, span_end, outputs["pooled"][row], outputs["filter"][row, words], attention
    )


def question_arrays(outputs: Outputs, row: int, length: int, names: Sequence[str]) -> QuestionArrays:
    """One question out of a batch: the [CLS] row of each attention is its n-gram weights."""
    weights = {name: outputs[f"question_{name}"][row, 1 : length + 1] for name in names}
    start, end, pooled = (outputs[name][row] for name in QUESTION_OUTPUTS)
    return QuestionArrays(start, end, pooled, weights)
