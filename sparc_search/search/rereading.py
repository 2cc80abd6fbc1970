"""Reading again: a cross-encoder reads the best passages with the question, and chooses among their spans.

Answers then stand in the order of the reader's score + weight · the exact score. The exact score and its parts stay
what they are; the reader's logits are numbers of their own beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged
from ..records import Answer, EncodedQuestion, Passage, ReadLogits
from .candidates import Candidates, FoundAnswer
from .choice import without_overlaps
from .confidence import rival_score
from .lexical import LexWeight
from .ranking import ranked
from .scorer import PhraseScores, ScoredSpan

if TYPE_CHECKING:  # who does not read again does not load it
    from ..cross_encoder.reading import CrossEncoder, PassageLogits

AT_ONCE = 8
_RIVALS = 50
"""Answers looked at for one that says something else than the best."""


@dataclass(frozen=True, slots=True)
class ReadCalibration:
    """How likely the best answer of a reading is right: a logistic function of three numbers (see `confidence`)."""

    bias: float
    margin: float
    """Of the reader's score above its "no answer here"."""
    lead: float
    """Of the answer before the best one that says something else, up to `widest`."""
    score: float
    """Of the exact score."""
    widest: float

    def confidence(self, margin: float, lead: float, score: float) -> float:
        """Between 0 and 1."""
        x = self.bias + self.margin * margin + self.lead * min(lead, self.widest) + self.score * score
        return 1 / (1 + math.exp(-max(min(x, 700.0), -700.0)))


@dataclass(frozen=True, slots=True)
class ReadingFit:
    """How a reader works together with a model; measured on questions that neither was trained on."""

    model: str = ""
    """Fingerprint of the model it was measured with."""
    weight: float = 0.3
    """Of the exact score beside the reader's."""
    passages: int = 5
    """How many `auto` reads,"""
    below: float = 0.7
    """and below which confidence of the fast answer it does."""
    calibration: ReadCalibration | None = None

    @classmethod
    def from_card(cls, values: Mapping[str, Any], model: str) -> ReadingFit:
        """What a reader's card says; a confidence only if it was measured with this model."""
        try:
            found = dict(values)
            calibration = found.pop("calibration", None)
            fit = cls(**found)
            if calibration is None or fit.model != model:
                return fit
            return replace(fit, calibration=ReadCalibration(**calibration))
        except TypeError as error:
            raise ModelDamaged("the `serving` part of the reader's card is incomplete", "fit it again") from error

    def as_card(self) -> dict[str, Any]:
        """What goes into the reader's card under `serving`."""
        return asdict(self)


class ReadAgain(NamedTuple):
    """What became of a question that was read again."""

    found: list[FoundAnswer]
    """Phrases, best first."""
    passages: int
    confidence: float | None
    answered: bool


_NOT_READ = ReadAgain([], 0, None, False)


class Rereader:
    """A reader and how it is used. Threads may share it."""

    def __init__(self, reader: CrossEncoder, fit: ReadingFit) -> None:
        self.reader, self.fit = reader, fit

    def read(
        self, question: EncodedQuestion, lex: Sequence[LexWeight], candidates: Candidates, passages: int, k: int
    ) -> ReadAgain:
        """Read the passages of the best answers, and answer from them."""
        if candidates.blocks is None:
            return _NOT_READ
        best = candidates.of_best(ranked(question, lex, candidates.blocks, AT_ONCE), passages)
        candidates.missing += best.missing
        if best.blocks is None:  # an engine that does not hold still may have lost them
            return _NOT_READ
        spans = self.spans(question, lex, best)
        found = [
            FoundAnswer(replace(answer, read_score=logits.score, read_logits=logits), span)
            for answer, span in islice(best.answers(spans.in_order(self.fit.weight), AT_ONCE), max(k, _RIVALS))
            for logits in [spans.logits(span)]
        ]
        return ReadAgain(found, len(best.ids), self.confidence(found), _is_answer(found))

    def of_span(self, question: str, passage: Passage, start: int, end: int) -> ReadLogits:
        """What the reader makes of any characters of a passage."""
        (logits,) = self.reader.logits(question, [passage])
        [(first, last)] = _by_token(logits, np.array([[start, end]], np.int32)).tolist()
        return ReadLogits(first, last, logits.nothing)

    def spans(self, question: EncodedQuestion, lex: Sequence[LexWeight], candidates: Candidates) -> ReadSpans:
        """Every legal span of some passages with its exact score and the reader's logits."""
        assert candidates.blocks is not None
        scores = PhraseScores(question, lex, candidates.blocks.laid_out())
        passages = candidates.passages()
        read = list(self.reader.logits(question.text, passages))
        offsets = [candidates.blocks.offsets(block) for block in range(len(passages))]
        return ReadSpans(scores, [_by_token(logits, own) for logits, own in zip(read, offsets, strict=True)], read)

    def confidence(self, found: Sequence[FoundAnswer]) -> float | None:
        """How likely the first is right, if that was ever measured."""
        calibration = self.fit.calibration
        if calibration is None or not found:
            return None
        return calibration.confidence(*facts_of([answer for answer, _ in found], self.fit.weight))


class ReadSpans:
    """Spans that have two scores."""

    def __init__(
        self, scores: PhraseScores, by_token: Sequence[NDArray[np.float32]], read: Sequence[PassageLogits]
    ) -> None:
        self._spans, self._by_token, self._read = scores.spans(), by_token, read

    def in_order(self, weight: float) -> Iterator[ScoredSpan]:
        """By the reader's score + weight · the exact one, best first, without those that overlap a better one."""
        spans = self._spans
        first = np.cumsum([0, *(len(logits) for logits in self._by_token)])[spans.block]
        logits = np.concatenate(self._by_token)
        read = logits[first + spans.start, 0].astype(np.float64) + logits[first + spans.end, 1]
        order = np.argsort(-(read + weight * spans.score), kind="stable")
        return without_overlaps(spans.span(number) for number in order.tolist())

    def logits(self, span: ScoredSpan) -> ReadLogits:
        """What the reader makes of one of them."""
        words = self._by_token[span.block]
        return ReadLogits(float(words[span.start, 0]), float(words[span.end, 1]), self._read[span.block].nothing)


def facts_of(answers: Sequence[Answer], weight: float) -> tuple[float, float, float]:
    """Margin, lead and exact score of the first; without a rival its lead is infinite."""
    totals = [(answer.text, (answer.read_score or 0.0) + weight * answer.score) for answer in answers]
    best, rival = answers[0], rival_score(totals)
    assert best.read_logits is not None
    margin = best.read_logits.score - best.read_logits.nothing
    return margin, math.inf if rival is None else totals[0][1] - rival, best.score


def _is_answer(found: Sequence[FoundAnswer]) -> bool:
    logits = found[0].answer.read_logits if found else None
    return logits is not None and logits.score >= logits.nothing


def _by_token(logits: PassageLogits, offsets: NDArray[np.int32]) -> NDArray[np.float32]:
    """Start and end logits of a block's tokens, whose word pieces may be cut otherwise than the reader's.

    The start of a token is that of the reader's piece which holds its first character, its end that of the piece which
    holds its last one.
    """
    pieces = logits.pieces.offsets
    if not len(pieces):
        return np.full((len(offsets), 2), -np.inf, np.float32)
    first = np.searchsorted(pieces[:, 1], offsets[:, 0], side="right").clip(0, len(pieces) - 1)
    last = (np.searchsorted(pieces[:, 0], offsets[:, 1], side="left") - 1).clip(0, len(pieces) - 1)
    return np.stack([logits.words[first, 0], logits.words[last, 1]], axis=1)
