"""Phrase blocks as they are stored, scored by compiled code where there is some.

The extension is built when the package is installed, if there is a C compiler; without one numpy finds the same spans
with the same scores, some milliseconds later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from ..block_batch import BlockBatch, Blocks
from ..phrase_query import BestSpans, PhraseQuery, ScoresSpans
from ..records import PART_KINDS
from .block_layout import damaged
from .older_block import is_older
from .phrase_block import read_last_column
from .phrase_block_batch import decode_batch

compiled: Callable[..., int] | None = None
with suppress(ImportError):
    from ._best_spans import best_spans

    compiled = best_spans


def blocks_of(data: Sequence[bytes]) -> Blocks:
    """At least one stored block. Older ones are scored by numpy: they are few, or should be made anew."""
    return CompiledBlocks(data) if compiled and not any(map(is_older, data)) else decode_batch(data)


class CompiledBlocks(ScoresSpans):
    """Blocks that stay as they are stored."""

    def __init__(self, data: Sequence[bytes]) -> None:
        self._data = data
        self._offsets: dict[int, NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self._data)

    def laid_out(self) -> BlockBatch:
        """Their columns, end to end."""
        return decode_batch(self._data)

    def offsets(self, number: int) -> NDArray[np.int32]:
        """The characters of a block's tokens."""
        if number not in self._offsets:  # several answers may come from one block
            self._offsets[number] = read_last_column(self._data[number])
        return self._offsets[number]

    def best_spans(self, query: PhraseQuery, count: int) -> BestSpans:
        """The best so many spans of which no two overlap; `IndexDamaged` if bytes are missing."""
        assert compiled, "blocks_of gives these only if it is there"
        where, parts = np.empty((count, 3), np.int32), np.empty((count, len(PART_KINDS) + 1))
        try:
            found = compiled(self._data, *query, where, parts)
        except ValueError as error:
            raise damaged(str(error)) from error
        return BestSpans(where[:found], parts[:found])
