"""The phrase for which an n-gram weighs most in a passage: the value in the inverted index is of its start (or end)."""

from __future__ import annotations

import numpy as np

from ..block_batch import batch_of
from ..records import SIDES, PhraseBlock, Span
from ..search.legal_spans import LegalSpans
from ..stored import StoredPassage
from . import weights


def paying_phrase(stored: StoredPassage, field: str, ids: tuple[int, ...], longest: int) -> Span | None:
    """The phrase from (to) the boundary at which the n-gram weighs most, the other end being the one that fits it best.

    None for `lex`, which is of the whole passage, and where the n-gram weighs nothing.
    """
    block = stored.block
    if field not in SIDES:
        return None
    row = _heaviest(block, field == "start", ids)
    pairs = LegalSpans(batch_of([block]), longest).pairs(np.arange(len(block.start.positions)))
    mine = np.flatnonzero((pairs.start_row if field == "start" else pairs.end_row) == row)
    if row is None or not len(mine):
        return None
    left, right = pairs.start_row[mine], pairs.end_row[mine]
    a, b = block.start.spans[left].astype(np.float64), block.end.spans[right].astype(np.float64)
    fit = (a * b).sum(axis=1) * block.start.span_scales[left] * block.end.span_scales[right]
    length = pairs.end[mine] - pairs.start[mine]
    best = mine[np.lexsort((length, -fit))[0]]
    start, end = int(block.offsets[pairs.start[best], 0]), int(block.offsets[pairs.end[best], 1])
    return Span(stored.passage.text[start:end], start, end)


def _heaviest(block: PhraseBlock, starts: bool, ids: tuple[int, ...]) -> int | None:
    """The row of the kept boundary for which an n-gram weighs most, summed over its places."""
    side = block.start if starts else block.end
    columns = next((columns for columns in side.sparse if columns.n == len(ids)), None)
    total = np.zeros(len(side.positions), np.int64)
    if columns is None:
        return None
    for at in weights.positions(block, ids):
        entries = slice(columns.indptr[at], columns.indptr[at + 1])
        np.add.at(total, columns.rows[entries], columns.values[entries])
    return int(total.argmax()) if total.any() else None
