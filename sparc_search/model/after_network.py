"""What happens after the network, written once in numpy and shared by both encoders.

    network arrays -> keep (filter) -> prune -> quantise -> PhraseBlock -> features of the inverted index

Scores are later computed from the quantised block alone, and the features are computed from it too, so that they
are true upper bounds of what any phrase of the passage can get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..ngrams import feature_name, round_up_9bits
from ..records import (
    AFTER_JOINT,
    CONTINUES,
    PUNCTUATION,
    SIDES,
    TITLE,
    AlignedPiece,
    EncodedPassage,
    EncodedQuestion,
    LexTerm,
    Passage,
    PhraseBlock,
    Phrases,
    Side,
    SparseColumns,
    WeightedNgram,
)
from .code_tokens import boundary_rows
from .config import SparcConfig
from .tokenizer import Pieces, WordPieces

Array = NDArray[np.float32]

# The lexical part is a saturated term frequency (BM25's passage side). The average length is a constant, so that a
# passage's impacts never change when the corpus grows.
SATURATION, LENGTH_SHARE, AVERAGE_LENGTH = 0.9, 0.4, 150.0

SMALLEST = 1e-30  # what is not above it counts as zero: its scale would be no normal float32


@dataclass(frozen=True, slots=True)
class PassageArrays:
    """The network's output for one passage, without [CLS], the last [SEP] and padding. N tokens, title included."""

    start: Array  # (N, d)
    end: Array  # (N, d)
    span_start: Array  # (N, c)
    span_end: Array  # (N, c)
    pooled: Array  # (h,)
    filter: Array  # (N, 2)
    attention: Mapping[str, Array]  # "start_1" ... -> (N, N)


@dataclass(frozen=True, slots=True)
class QuestionArrays:
    """The network's output for one question, without [CLS], [SEP] and padding. M tokens."""

    start: Array  # (d,)
    end: Array  # (d,)
    pooled: Array  # (h,)
    weights: Mapping[str, Array]  # "start_1" ... -> (M,)


class AfterNetwork:
    """Turns network arrays into the records that stores and scorers know."""

    def __init__(self, config: SparcConfig, pieces: WordPieces) -> None:
        self.config, self.pieces = config, pieces

    def passage(self, passage: Passage, pieces: Pieces, title: Pieces, arrays: PassageArrays) -> EncodedPassage:
        """Keep, prune, quantise, and name the features. `pieces` is what the network read, `title` the whole title."""
        offsets, flags = shown(pieces, passage.alignment)
        flags = with_joints(Pieces(pieces.ids, offsets, flags), passage.joints)
        sides = {side: self._side(side, flags, arrays) for side in SIDES}
        passage_vector, passage_scale = quantised(arrays.pooled[None])
        lex_ids, lex_impacts = lexical_impacts(pieces, title)
        block = PhraseBlock(
            pieces.ids,
            offsets,
            flags,
            sides["start"],
            sides["end"],
            passage_vector[0],
            float(passage_scale[0]),
            lex_ids,
            lex_impacts,
        )
        lex = {self._name((token,)): value for token, value in zip(lex_ids.tolist(), lex_impacts.tolist(), strict=True)}
        features = {str(side): self._bounds(block.token_ids, sides[side]) for side in SIDES}
        return EncodedPassage(passage, block, {**features, "lex": lex})

    def question(self, text: str, pieces: Pieces, arrays: QuestionArrays) -> EncodedQuestion:
        """Weighted n-grams of a question; the same n-gram twice is one with the sum of its weights."""
        words = pieces.ids[(pieces.flags & PUNCTUATION) == 0]
        terms, counts = np.unique(words, return_counts=True)
        return EncodedQuestion(
            text,
            arrays.start,
            arrays.end,
            arrays.pooled,
            self._ngrams("start", pieces.ids, arrays.weights),
            self._ngrams("end", pieces.ids, arrays.weights),
            tuple(
                LexTerm(token, self._name((token,)), count)
                for token, count in zip(terms.tolist(), counts.tolist(), strict=True)
            ),
            self.config.longest_answer,
        )

    def _side(self, side: Side, flags: NDArray[np.uint8], arrays: PassageArrays) -> Phrases:
        rows = boundary_rows(side, flags)
        logits = arrays.filter[rows, SIDES.index(side)]
        kept = np.flatnonzero(may_be(side, flags) & (logits >= self.config.filter_thresholds[SIDES.index(side)]))
        said = rows[kept]
        bits, prune, levels = self.config.vector_bits, self.config.prune, self.config.weight_levels
        vectors, vector_scales = quantised((arrays.start if side == "start" else arrays.end)[said], bits)
        spans, span_scales = quantised((arrays.span_start if side == "start" else arrays.span_end)[said], bits)
        sparse = tuple(
            sparse_columns(n, arrays.attention[f"{side}_{n}"][said], prune, levels) for n in self.config.ngrams
        )
        return Phrases(kept.astype(np.int32), vectors, vector_scales, spans, span_scales, sparse)

    def _bounds(self, token_ids: NDArray[np.int32], phrases: Phrases) -> dict[str, float]:
        """For each n-gram, the largest weight that any kept boundary gives it."""
        bounds: dict[str, float] = {}
        for columns in phrases.sparse:
            for ngram, value in ngram_bounds(token_ids, len(phrases.positions), columns):
                bounds[self._name(ngram)] = value
        return bounds

    def _ngrams(self, side: Side, ids: NDArray[np.int32], weights: Mapping[str, Array]) -> tuple[WeightedNgram, ...]:
        found: dict[tuple[int, ...], float] = {}
        tokens = ids.tolist()
        for n in self.config.ngrams:
            for at, weight in enumerate(weights[f"{side}_{n}"].tolist()):
                if weight > 0:
                    ngram = tuple(tokens[at : at + n])
                    found[ngram] = found.get(ngram, 0.0) + weight
        return tuple(WeightedNgram(ngram, self._name(ngram), weight) for ngram, weight in found.items())

    def _name(self, ids: Sequence[int]) -> str:
        return feature_name([self.pieces.piece(token) for token in ids])


def shown(pieces: Pieces, alignment: Sequence[AlignedPiece]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Offsets in the text that is shown, and flags: what was put in for the model to read counts as title."""
    if not alignment:
        return pieces.offsets, pieces.flags
    encoded_start, encoded_end, shown_start, shown_end = np.asarray(alignment, np.int32).T
    in_text = (pieces.flags & TITLE) == 0
    at = np.clip(np.searchsorted(encoded_start, pieces.offsets[:, 0], side="right") - 1, 0, None)
    inside = in_text & (shown_start < shown_end)[at] & (pieces.offsets[:, 1] <= encoded_end[at])
    moved = pieces.offsets - encoded_start[at][:, None] + shown_start[at][:, None]
    put_in = np.where(in_text, shown_start[at], 0)[:, None]
    offsets = np.where(inside[:, None], moved, put_in).astype(np.int32)
    return offsets, np.where(inside, pieces.flags, pieces.flags | TITLE).astype(np.uint8)


def with_joints(pieces: Pieces, joints: Sequence[int]) -> NDArray[np.uint8]:
    """The flags of the pieces, with AFTER_JOINT on the first piece behind each joint."""
    flags = pieces.flags.copy()
    for joint in joints:
        at = int(np.searchsorted(pieces.offsets[:, 0], joint))
        if at < len(flags):
            flags[at] |= AFTER_JOINT
    return flags


def may_be(side: Side, flags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Answers are whole words of the text: none starts at a piece that goes on with a word, none ends before one."""
    goes_on = (flags & CONTINUES) != 0
    whole = ~goes_on if side == "start" else ~np.append(goes_on[1:], False)
    inside: NDArray[np.bool_] = whole & ((flags & TITLE) == 0)
    return inside


def quantised(vectors: Array, bits: int = 8) -> tuple[NDArray[np.int8], Array]:
    """Rows of small whole numbers and the scale of each: vectors ~ rows * scales. Scales have 9 significant bits."""
    most = 2 ** (bits - 1) - 1
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scales = round_up_9bits(np.where(largest > SMALLEST, largest / most, 1))
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


@lru_cache(maxsize=8)
def weight_levels(count: int, prune: float) -> NDArray[np.uint8]:
    """For each uint8 weight, the nearest of `count` that stand in equal ratios between `prune` and the largest."""
    if count >= 255:
        return np.arange(256, dtype=np.uint8)
    levels = np.rint(np.geomspace(max(1.0, 255 * prune), 255, count))
    nearest = np.abs(np.log(np.arange(1, 256))[:, None] - np.log(levels)[None]).argmin(axis=1)
    return np.append(0, levels[nearest]).astype(np.uint8)


def sparse_columns(n: int, attention: Array, prune: float, levels: int = 255) -> SparseColumns:
    """Rectified attention (kept, N) by column: uint8 of the largest, what is below `prune` of the largest dropped."""
    largest = float(attention.max(initial=0.0))
    scale = largest / 255 if largest > SMALLEST else 1.0
    values = np.where(attention >= prune * largest, np.rint(attention / scale), 0).astype(np.uint8)
    values = weight_levels(levels, prune)[values]
    columns, rows = np.nonzero(values.T)
    indptr = np.searchsorted(columns, np.arange(values.shape[1] + 1)).astype(np.int32)
    return SparseColumns(n, indptr, rows.astype(np.uint16), values.T[columns, rows], float(np.float32(scale)))


def ngram_bounds(
    token_ids: NDArray[np.int32], kept: int, columns: SparseColumns
) -> list[tuple[tuple[int, ...], float]]:
    """(n-gram, largest summed weight over the kept boundaries), from the quantised columns, rounded up."""
    used = np.flatnonzero(np.diff(columns.indptr))
    if not len(used):
        return []
    windows = np.lib.stride_tricks.sliding_window_view(token_ids, columns.n)[used]
    ngrams, which = np.unique(windows, axis=0, return_inverse=True)
    sums = np.zeros((len(ngrams), kept), np.int64)
    group = np.repeat(which.reshape(-1), np.diff(columns.indptr)[used])
    np.add.at(sums, (group, columns.rows), columns.values)
    values = round_up_9bits(sums.max(axis=1) * np.float64(columns.scale))
    return list(zip(map(tuple, ngrams.tolist()), values.tolist(), strict=True))


def lexical_impacts(pieces: Pieces, title: Pieces) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Token ids of passage and title and their saturated term frequencies; punctuation does not count."""
    words = np.concatenate(
        [pieces.ids[(pieces.flags & (PUNCTUATION | TITLE)) == 0], title.ids[(title.flags & PUNCTUATION) == 0]]
    )
    ids, counts = np.unique(words, return_counts=True)
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(words) / AVERAGE_LENGTH)
    return ids.astype(np.int32), round_up_9bits(counts * (SATURATION + 1) / (counts + norm))
