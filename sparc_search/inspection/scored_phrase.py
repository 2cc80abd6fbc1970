"""Any phrase of a passage for one question: its exact score, the parts of it, and where in the text they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ..block_batch import batch_of
from ..errors import UsageError
from ..index import Index, cleaned
from ..records import (
    AFTER_JOINT,
    PUNCTUATION,
    SIDES,
    TITLE,
    EncodedQuestion,
    PartKind,
    PhraseBlock,
    ReadLogits,
    Retriever,
    ScorePart,
    WeightedNgram,
)
from ..search import lexical
from ..search.explain import explain
from ..search.grid import on_grid
from ..search.legal_spans import Pairs
from ..search.scorer import PhraseScores, score_spans
from ..stored import StoredPassage
from . import asking, weights
from .passage import Boundary, boundary_of
from .summaries import PassageFacts, facts


@dataclass(frozen=True, slots=True)
class Piece:
    """A word piece of a passage, or of the title that was read before it (without characters, so 0 to 0)."""

    text: str
    start: int
    end: int
    title: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """An n-gram at one place of the passage, and the points it gives to the start and to the end of the phrase.

    The points of one n-gram at all its places sum to its part of the score. A term's lexical points are shared out
    evenly among its places.
    """

    name: str
    n: int
    piece: int
    """The number of its first word piece."""
    start: float
    end: float
    lex: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How a first stage saw the passage of a phrase."""

    retriever: Retriever
    proposed: bool
    score: float
    least: float | None
    """What the last passage scored that it proposed; None if it proposed fewer than it may."""

    @property
    def missed_by(self) -> float:
        """How much was missing to be proposed."""
        return 0.0 if self.proposed or self.least is None else max(self.least - self.score, 0.0)


@dataclass(frozen=True, slots=True)
class ScoredPhrase:
    """One phrase, its score for the question, and what pays for it."""

    text: str
    start: int
    """Characters of the passage: from here to `end`."""
    end: int
    first: int
    """Its first word piece, and its last."""
    last: int
    passage: PassageFacts
    score: float
    by_kind: Mapping[PartKind, float]
    """In the order of `PART_KINDS`; their sum is the score."""
    parts: tuple[ScorePart, ...]
    marks: tuple[Mark, ...]
    """Where the n-grams stand that the question pays for."""
    indexed: bool
    """Whether start and end are in the index; if not, they were encoded on the spot."""
    boundaries: tuple[Boundary, ...]
    illegal: str
    """Why it can be no answer, though it can be scored; empty if it can."""
    pieces: tuple[Piece, ...]
    weights: tuple[Mark, ...] = ()
    """All weights of its start and end, whatever the question; only if they were asked for."""
    rank: int | None = None
    """Among the answers that were given."""
    method: str = "learned"
    """`tfidf`: without the learned weights of n-grams."""
    index: str = ""
    """The name of the second index, if it is of that one."""
    roads: tuple[Standing, ...] = ()
    read_logits: ReadLogits | None = None
    """What a reader makes of it, if one was asked; no part of the score."""

    @property
    def read_score(self) -> float | None:
        """What the reader gives it."""
        return self.read_logits.score if self.read_logits else None

    @property
    def proposed(self) -> bool:
        """Whether any first stage proposed its passage; True where nobody looked."""
        return not self.roads or any(road.proposed for road in self.roads)

    @property
    def can_win(self) -> bool:
        """Whether it was among the phrases that were compared."""
        return self.indexed and not self.illegal and self.proposed


class PhraseScorer:
    """Scores any phrase of an index for one question."""

    def __init__(self, index: Index, question: str) -> None:
        self.index = index
        self.question: EncodedQuestion = index.encoder.encode_questions([cleaned(question)])[0]
        with index.engine.view() as view:
            statistics = lexical.look_up(self.question, view)
        self.lex = lexical.lex_weights(self.question, statistics)
        self._scaled = lexical.scaled(self.lex, index.settings.lex_weight)

    def best(self, stored: StoredPassage) -> tuple[int, int] | None:
        """First and last word piece of the best phrase of a passage."""
        spans = score_spans(self.question, self._scaled, [stored.block])
        if not len(spans):
            return None
        best = spans.span(int(np.argmax(spans.score)))
        return best.start, best.end

    def phrase(self, stored: StoredPassage, first: int, last: int, *, every: bool = False) -> ScoredPhrase:
        """The phrase from one word piece to another; with `every` also all weights that it has."""
        passage, own = stored.passage, stored.block
        whole = cache(lambda: self.index.encoder.encode_unfiltered([passage])[0].block)
        first, last = _inside(own, first, last, whole)
        found = [boundary_of(stored, side, at, whole) for side, at in zip(SIDES, (first, last), strict=True)]
        for boundary, source in found:
            if source is None:
                raise UsageError(
                    f"this phrase cannot be scored: its {boundary.side} is {boundary.note}", "take another"
                )
        start, end = (source or own for _, source in found)
        block = replace(own, start=start.start, end=end.end)
        spans = PhraseScores(self.question, self._scaled, batch_of([block])).of_pairs(_pair(block, first, last))
        parts = explain(spans.parts(0), self.question, self._scaled, block, first, last)
        begins, ends = int(own.offsets[first, 0]), int(own.offsets[last, 1])
        name = asking.namer(self.index)
        return ScoredPhrase(
            text=passage.text[begins:ends],
            start=begins,
            end=ends,
            first=first,
            last=last,
            passage=facts(passage),
            score=float(spans.score[0]),
            by_kind={part.kind: part.value for part in spans.parts(0)},
            parts=parts,
            marks=tuple(_marks(self.question, block, first, last)),
            indexed=all(boundary.indexed for boundary, _ in found),
            boundaries=tuple(boundary for boundary, _ in found),
            illegal=_illegal(own, first, last, self.question.longest_answer),
            pieces=_pieces(passage.text, own, name),
            weights=tuple(_all_weights(block, first, last, name)) if every else (),
        )

    def by_tfidf(self, phrase: ScoredPhrase, block: PhraseBlock) -> ScoredPhrase:
        """The same phrase without the learned weights of n-grams: what is left of its words is their rarity."""
        by_kind = {kind: 0.0 if kind.startswith("sparse") else value for kind, value in phrase.by_kind.items()}
        parts = tuple(part for part in phrase.parts if not part.kind.startswith("sparse"))
        ids = {term.name: term.id for term in self.question.lex_terms}
        marks = []
        for part in parts:
            places = weights.positions(block, (ids[part.name],)) if part.kind == "lex" else ()
            marks += [Mark(part.name, 1, at, 0.0, 0.0, part.value / len(places)) for at in places]
        return replace(
            phrase, score=sum(by_kind.values()), by_kind=by_kind, parts=parts, marks=tuple(marks), method="tfidf"
        )


def _inside(block: PhraseBlock, first: int, last: int, unfiltered: Callable[[], PhraseBlock]) -> tuple[int, int]:
    """The same without punctuation at its ends at which no phrase can start or end."""
    punctuation = (block.flags & PUNCTUATION) != 0
    while first < last and punctuation[first] and not _may(block, "start", first, unfiltered):
        first += 1
    while first < last and punctuation[last] and not _may(block, "end", last, unfiltered):
        last -= 1
    return first, last


def _may(block: PhraseBlock, side: str, at: int, unfiltered: Callable[[], PhraseBlock]) -> bool:
    return any(at in getattr(source, side).positions for source in (block, unfiltered()))


def _pair(block: PhraseBlock, first: int, last: int) -> Pairs:
    """A span as the scorer numbers it."""
    rows = np.searchsorted(block.start.positions, first), np.searchsorted(block.end.positions, last)
    numbers = (np.array([int(number)]) for number in (0, first, last, *rows))
    return Pairs(*numbers)


def _illegal(block: PhraseBlock, first: int, last: int, longest: int) -> str:
    flags = block.flags
    if last - first + 1 > longest:
        return f"it has {last - first + 1} word pieces, and an answer has at most {longest}"
    if (flags[first + 1 : last + 1] & AFTER_JOINT).any():
        return "it goes across a border, from one paragraph, item or cell into another"
    if (flags[first : last + 1] & PUNCTUATION).all():
        return "it is punctuation alone"
    return ""


def _pieces(text: str, block: PhraseBlock, name: asking.Name) -> tuple[Piece, ...]:
    rows = zip(block.token_ids.tolist(), block.flags.tolist(), block.offsets.tolist(), strict=True)
    return tuple(
        Piece(name((token,)) if flags & TITLE else text[start:end], start, end, bool(flags & TITLE))
        for token, flags, (start, end) in rows
    )


def _marks(question: EncodedQuestion, block: PhraseBlock, first: int, last: int) -> Iterator[Mark]:
    """Each place of each n-gram of the question that pays for the phrase."""
    own, none = _rows(block, first, last), np.zeros(len(block.token_ids))
    points: dict[tuple[str, int, int], list[float]] = {}
    for side, ngrams in enumerate((question.start_ngrams, question.end_ngrams)):
        for ngram, weight in _on_grid(ngrams):
            row = own[side].get(len(ngram.ids), none)
            for at in weights.positions(block, ngram.ids):
                if weight * row[at]:
                    points.setdefault((ngram.name, len(ngram.ids), at), [0.0, 0.0])[side] += float(weight * row[at])
    return (Mark(*key, *both) for key, both in sorted(points.items(), key=lambda item: (item[0][2], item[0][1])))


def _all_weights(block: PhraseBlock, first: int, last: int, name: asking.Name) -> Iterator[Mark]:
    """Every n-gram that weighs something for the phrase, where it stands."""
    start, end = _rows(block, first, last)
    for n in sorted(set(start) | set(end)):
        none = np.zeros(len(block.token_ids))
        left, right = start.get(n, none), end.get(n, none)
        for at in np.flatnonzero(left + right).tolist():
            yield Mark(name(block.token_ids[at : at + n].tolist()), n, at, float(left[at]), float(right[at]))


def _rows(block: PhraseBlock, first: int, last: int) -> list[dict[int, weights.Floats]]:
    """By n-gram size, what the n-gram that begins at each position weighs for the start, and for the end."""
    return [
        weights.of_boundary(weights.phrases_of(block, side), at) for side, at in zip(SIDES, (first, last), strict=True)
    ]


def _on_grid(ngrams: Sequence[WeightedNgram]) -> Iterator[tuple[WeightedNgram, float]]:
    return zip(ngrams, on_grid([ngram.weight for ngram in ngrams]), strict=True)
