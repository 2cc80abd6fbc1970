"""What cannot be in a phrase block, whoever stores it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..records import PhraseBlock


def block_problems(block: PhraseBlock, length: int) -> Iterator[str]:
    """What cannot be in a block of a passage with so many characters."""
    tokens = len(block.token_ids)
    if tokens and (block.offsets.min() < 0 or block.offsets.max() > length):
        yield "has a token outside its text"
    for name, side in (("start", block.start), ("end", block.end)):
        kept = len(side.positions)
        if kept and (
            side.positions.min() < 0 or side.positions.max() >= tokens or np.any(np.diff(side.positions) <= 0)
        ):
            yield f"has {name} positions out of range or order"
        for columns in side.sparse:
            if len(columns.rows) and columns.rows.max() >= kept:
                yield f"has {name} weights for a position that is not kept"
