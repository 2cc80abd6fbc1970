"""The rows with the highest sparse scores, without adding up what cannot change them.

A few features of a question are common words whose postings are longer than all others together, and whose weights are
small. So the rare ones are added up first. If even all of the common ones could not lift a row that has none of the
rare ones into the first k, only the rows near the top are looked up in the long postings. The scores are the same to
the last bit as those of adding up everything, in the order of the query.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .postings import COMMON, Postings, Query, Terms, kth
from .segment import Mask

WORTHWHILE: Final = 120_000
"""Postings of common features below which everything is just added up."""

_FEW: Final = 8
"""Rows are few if they are less than one in so many."""

_NOISE: Final = 1e-9
"""Sums in another order differ by much less than this share."""

Found = tuple[NDArray[np.int64], NDArray[np.float64]]


def highest(postings: Postings, query: Query, k: int, count: int, mask: Mask | None) -> Found:
    """Rows with a positive score, among them surely the k highest that the mask lets through, and their scores."""
    terms = postings.find(query)
    near = _near_the_top(postings, terms, k, count, mask)
    if near is not None:
        scores = postings.sums_of(terms, near)
        return near[scores > 0], scores[scores > 0]
    sums = _allowed(postings.sums(terms, count), mask)
    least = kth(sums, k)
    found = (sums >= least if least > 0 else sums > 0).nonzero()[0]
    return found, sums[found]


def _allowed(sums: NDArray[np.float64], mask: Mask | None) -> NDArray[np.float64]:
    return sums if mask is None else sums * mask


def _near_the_top(postings: Postings, terms: Terms, k: int, count: int, mask: Mask | None) -> NDArray[np.int64] | None:
    """The few rows that can be among the first k; None if they are not few, or if finding them is no gain."""
    sizes = terms.sizes
    if sizes.sum() < WORTHWHILE:
        return None
    is_common = sizes * COMMON > count
    if sizes[is_common].sum() < WORTHWHILE or is_common.all() or terms.weights.min() < 0:
        return None
    common = terms.some(is_common)
    partial = _allowed(postings.sums(terms.some(~is_common), count), mask)
    rows = _at_least(partial, k, float(common.bounds.sum()), count)
    if rows is None:
        return None
    total = partial[rows] + postings.sums_of(common, rows)
    if len(rows) > k:
        lowest = np.partition(total, -k)[-k]
        rows = rows[total >= lowest * (1 - _NOISE)]
    return rows


def _at_least(partial: NDArray[np.float64], k: int, missing: float, count: int) -> NDArray[np.int64] | None:
    """Rows that, given what is missing, may still reach the k-th; None if those without any sum may, or if not few."""
    lowest = kth(partial, k) - missing
    if lowest <= missing * _NOISE:
        return None
    rows = (partial >= lowest * (1 - _NOISE)).nonzero()[0]
    return rows if len(rows) * _FEW <= count else None
