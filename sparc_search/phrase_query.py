"""A question in the numbers that compiled code scores phrases with, and what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class PhraseQuery(NamedTuple):
    """All that a question gives to the score of a phrase, in the order in which compiled code takes it.

    The weights are on the grid on which sums are exact.
    """

    vectors: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]  # for starts, ends and passages
    sizes: NDArray[np.int64]  # (n-grams,) n of each, ascending
    ids: NDArray[np.int64]  # the word pieces of one n-gram after the other; among those of one size ascending
    weights: NDArray[np.float64]  # (n-grams, 2) for starts and for ends
    terms: NDArray[np.int64]  # (terms,) ids of the lexical terms, ascending
    term_weights: NDArray[np.float64]  # (terms,)
    longest_answer: int  # most word pieces of one


class BestSpans(NamedTuple):
    """Some legal spans of which no two overlap, best first; equals in the order of (block, start, end)."""

    where: NDArray[np.int32]  # (spans, 3) block, first token, last token
    parts: NDArray[np.float64]  # (spans, 8) the seven summands of the score, in the order of PART_KINDS, and the score


class ScoresSpans(ABC):
    """Blocks that find their best spans themselves."""

    @abstractmethod
    def best_spans(self, query: PhraseQuery, count: int) -> BestSpans:
        """The best so many that share no token with a better one; fewer only if there are not more."""
