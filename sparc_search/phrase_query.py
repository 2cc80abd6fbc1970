"""A question in the numbers that compiled code scores phrases with, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PhraseQuery:
    """All that a question gives to the score of a phrase, on the grids on which sums are exact."""

    vectors: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]  # for starts, ends and passages
    steps: tuple[float, float, float]
    """What one of the whole numbers of each vector stands for."""
    pieces: NDArray[np.int64]  # (pieces,) ids of the word pieces of its n-grams, ascending
    sizes: NDArray[np.int64]  # (n-grams,) n of each, ascending
    keys: NDArray[np.int64]  # (n-grams,) numbers of its pieces, as digits; ascending among those of one size
    weights: NDArray[np.float64]  # (n-grams, 2) for starts and for ends
    terms: NDArray[np.int64]  # (terms,) ids of the lexical terms, ascending
    term_weights: NDArray[np.float64]  # (terms,)
    max_tokens: int
    """Most word pieces of an answer."""


class BestSpans(NamedTuple):
    """Some legal spans, best first; equals in the order of (block, start, end)."""

    where: NDArray[np.int32]  # (spans, 3) block, first token, last token
    parts: NDArray[np.float64]  # (spans, 8) the seven summands of the score, in the order of PART_KINDS, and the score


@runtime_checkable
class ScoresSpans(Protocol):
    """Blocks that find their best spans themselves."""

    def best_spans(self, query: PhraseQuery, count: int) -> BestSpans:
        """The best so many; fewer only if there are not more."""
