"""Why an answer has its score: every n-gram and term that counts, with both its weights. The parts sum to the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..records import EncodedQuestion, PartKind, PhraseBlock, Phrases, ScorePart, WeightedNgram
from .grid import on_grid
from .lexical import LexWeight


def explain(
    summary: Sequence[ScorePart],
    question: EncodedQuestion,
    lex: Sequence[LexWeight],
    block: PhraseBlock,
    start: int,
    end: int,
) -> tuple[ScorePart, ...]:
    """The seven parts of an answer from token `start` to `end`, the sparse and lexical ones taken apart."""
    whole = {part.kind: part for part in summary}
    return (
        *(whole[kind] for kind in ("dense start", "dense end", "span", "passage")),
        *sparse_parts(question, block, start, end),
        *_heaviest_first(_terms(block, lex)),
    )


def sparse_parts(question: EncodedQuestion, block: PhraseBlock, start: int, end: int) -> list[ScorePart]:
    """The n-grams that count for a phrase from token `start` to `end`; a token that is not kept counts nothing."""
    return [
        *_heaviest_first(_ngrams("sparse start", block, block.start, start, question.start_ngrams)),
        *_heaviest_first(_ngrams("sparse end", block, block.end, end, question.end_ngrams)),
    ]


def _ngrams(
    kind: PartKind, block: PhraseBlock, side: Phrases, position: int, ngrams: Sequence[WeightedNgram]
) -> Iterator[ScorePart]:
    """Each n-gram of the question that weighs something for the phrase at this position."""
    row = int(np.searchsorted(side.positions, position))
    if not np.isin(position, side.positions):
        return
    for ngram, weight in zip(ngrams, on_grid([ngram.weight for ngram in ngrams]), strict=True):
        inside = _passage_weight(block, side, row, ngram.ids)
        if weight and inside:
            yield ScorePart(kind, weight * inside, ngram.name, weight, inside)


def _passage_weight(block: PhraseBlock, side: Phrases, row: int, ids: tuple[int, ...]) -> float:
    """What an n-gram weighs for a row: the sum over the positions at which it stands."""
    begins = np.ones(max(len(block.token_ids) - len(ids) + 1, 0), bool)
    for step, piece in enumerate(ids):
        begins &= block.token_ids[step : step + len(begins)] == piece
    columns = next((columns for columns in side.sparse if columns.n == len(ids)), None)
    if columns is None:
        return 0.0
    total = 0
    for column in np.flatnonzero(begins).tolist():
        entries = slice(columns.indptr[column], columns.indptr[column + 1])
        total += int(columns.values[entries][columns.rows[entries] == row].sum(dtype=np.int64))
    return total * columns.scale


def _terms(block: PhraseBlock, lex: Sequence[LexWeight]) -> Iterator[ScorePart]:
    ordered = sorted(lex, key=lambda term: term.id)
    impacts = dict(zip(block.lex_ids.tolist(), block.lex_impacts.tolist(), strict=True))
    for term, weight in zip(ordered, on_grid([term.weight for term in ordered]), strict=True):
        if weight and term.id in impacts:
            yield ScorePart("lex", weight * impacts[term.id], term.name, weight, impacts[term.id])


def _heaviest_first(parts: Iterator[ScorePart]) -> list[ScorePart]:
    return sorted(parts, key=lambda part: (-part.value, part.name))
