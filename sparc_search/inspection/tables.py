"""Weights as tables: the learned ones by n-gram, start and end side by side, and tf-idf by term."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..records import SIDES, PhraseBlock, Side
from ..search.lexical import idf
from ..stored import Statistics
from . import weights
from .asking import Name

Ngrams = Mapping[tuple[Side, int], Mapping[tuple[int, ...], float]]
"""(side, n) -> token ids of an n-gram -> weight."""


@dataclass(frozen=True, slots=True)
class NgramRow:
    """An n-gram, what it weighs for a start and for an end, and where it stands."""

    name: str
    n: int
    start: float
    end: float
    weight: float
    """Start and end together: the table is sorted by it."""
    tfidf: float | None
    """The tf-idf weight of the same word in the same passage; a longer n-gram has none."""
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TermRow:
    """A term of passage and title: impact (saturated term frequency) x idf."""

    name: str
    impact: float
    passages: int
    """In how many of the index it stands."""
    idf: float
    weight: float
    positions: tuple[int, ...]


def ngram_rows(
    block: PhraseBlock, ngrams: Ngrams, name: Name, tfidf: Mapping[int, float], threshold: float
) -> tuple[NgramRow, ...]:
    """The table of some n-grams: those of which start or end weighs at least `threshold`, heaviest first."""
    rows = []
    for ids in {ids: None for weighed in ngrams.values() for ids in weighed}:
        start, end = (ngrams.get((side, len(ids)), {}).get(ids, 0.0) for side in SIDES)
        if max(start, end) >= threshold:
            term_weight = tfidf.get(ids[0], 0.0) if len(ids) == 1 else None
            places = weights.positions(block, ids)
            rows.append(NgramRow(name(ids), len(ids), start, end, start + end, term_weight, places))
    return tuple(sorted(rows, key=lambda row: (-row.weight, row.name)))


def passage_ngrams(block: PhraseBlock, sides: Collection[Side], sizes: Collection[int]) -> Ngrams:
    """For every n-gram the most it weighs for any kept start (end)."""
    return {
        (side, columns.n): weights.bounds(block, len(weights.phrases_of(block, side).positions), columns)
        for side, columns in weights.matrices(block)
        if side in sides and columns.n in sizes
    }


def term_rows(block: PhraseBlock, statistics: Statistics, name: Name) -> tuple[TermRow, ...]:
    """The passage's tf-idf, heaviest first."""
    rows = []
    for token_id, impact in zip(block.lex_ids.tolist(), block.lex_impacts.tolist(), strict=True):
        term = name((token_id,))
        containing = statistics.document_frequency.get(term, 0)
        rarity = idf(statistics.passages, containing)
        places = weights.positions(block, (token_id,))
        rows.append(TermRow(term, impact, containing, rarity, impact * rarity, places))
    return tuple(sorted(rows, key=lambda row: (-row.weight, row.name)))
