"""Dense first: passages by the inner product of their vector with the question's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..engine import View, Where, supports
from ..records import EncodedQuestion
from ..stored import Hits


class Vectors(Protocol):
    """Vectors that are kept beside an engine (see `stores/derived.py`)."""

    instead: bool
    """Whether they are searched even if the engine can search vectors itself."""

    def search(self, view: View, vectors: NDArray[np.float32], k: int, where: Where) -> list[Hits]:
        """What `View.dense_search` gives."""


def propose(
    view: View, beside: Vectors | None, questions: Sequence[EncodedQuestion], k: int, where: Where
) -> list[Hits]:
    """For each question the k best passages: by the engine itself, or by the vectors that are kept beside it."""
    vectors = np.stack([question.passage_vector for question in questions]).astype(np.float32)
    if beside is None or (supports(view, View.dense_search) and not beside.instead):
        return view.dense_search(vectors, k, where)
    return beside.search(view, vectors, k, where)
