"""The numbers of a phrase block, read back by position and by n-gram. Only sums and maxima, nothing is scored here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..records import SIDES, PhraseBlock, Phrases, Side, SparseColumns

Floats = NDArray[np.float64]


def phrases_of(block: PhraseBlock, side: Side) -> Phrases:
    """The kept starts or the kept ends."""
    return block.start if side == "start" else block.end


def matrices(block: PhraseBlock) -> Iterator[tuple[Side, SparseColumns]]:
    """Every side with each of its n-gram sizes."""
    return ((side, columns) for side in SIDES for columns in phrases_of(block, side).sparse)


def key_of(side: Side, n: int) -> str:
    """`start_1`, `end_2`: the name of one matrix."""
    return f"{side}_{n}"


def of_row(columns: SparseColumns, row: int) -> Floats:
    """(tokens,) What the n-gram that begins at each position weighs for one kept boundary."""
    entries = np.flatnonzero(columns.rows == row)
    weights = np.zeros(len(columns.indptr) - 1)
    weights[_columns_of_entries(columns)[entries]] = columns.values[entries] * columns.scale
    return weights


def of_boundary(phrases: Phrases, token: int) -> dict[int, Floats]:
    """The same for the boundary that was kept at a token, by n-gram size."""
    row = int(np.searchsorted(phrases.positions, token))
    return {columns.n: of_row(columns, row) for columns in phrases.sparse}


def largest(columns: SparseColumns) -> Floats:
    """(tokens,) The most that the n-gram that begins at each position weighs for any kept boundary."""
    weights = np.zeros(len(columns.indptr) - 1)
    np.maximum.at(weights, _columns_of_entries(columns), columns.values * columns.scale)
    return weights


def by_ngram(block: PhraseBlock, n: int, weights: Floats) -> dict[tuple[int, ...], float]:
    """N-grams that weigh something; one that stands at several positions has the sum."""
    summed: dict[tuple[int, ...], float] = {}
    for at in np.flatnonzero(weights).tolist():
        ids = tuple(block.token_ids[at : at + n].tolist())
        summed[ids] = summed.get(ids, 0.0) + float(weights[at])
    return summed


def bounds(block: PhraseBlock, kept: int, columns: SparseColumns) -> dict[tuple[int, ...], float]:
    """For each n-gram the most that it weighs, summed over its positions, for one of `kept` boundaries."""
    sums: dict[tuple[int, ...], Floats] = {}
    for at in np.flatnonzero(np.diff(columns.indptr)).tolist():
        entries = slice(columns.indptr[at], columns.indptr[at + 1])
        total = sums.setdefault(tuple(block.token_ids[at : at + columns.n].tolist()), np.zeros(kept))
        total[columns.rows[entries]] += columns.values[entries]
    return {ids: float(total.max()) * columns.scale for ids, total in sums.items()}


def positions(block: PhraseBlock, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Where an n-gram stands."""
    begins = np.ones(max(len(block.token_ids) - len(ids) + 1, 0), bool)
    for step, piece in enumerate(ids):
        begins &= block.token_ids[step : step + len(begins)] == piece
    return tuple(np.flatnonzero(begins).tolist())


def _columns_of_entries(columns: SparseColumns) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(columns.indptr) - 1), np.diff(columns.indptr))
