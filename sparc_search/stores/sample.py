"""Does an encoder still make of a passage what is stored? A sample is encoded again and held against its blocks.

Tolerance: vectors may differ by two steps of their int8 grid, and of the kept positions one in fifty may be another
(a processor with other float units rounds differently). Tokens and lexical terms must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..encoder import Encoder
from ..records import SIDES, PhraseBlock, Phrases
from ..stored import Problem, StoredPassage

STEPS = 2
OTHER_POSITIONS = 0.02


def compare(stored: Sequence[StoredPassage], encoder: Encoder) -> list[Problem]:
    """What is not as the encoder makes it."""
    again = encoder.encode_passages([one.passage for one in stored])
    return [
        Problem(f"passage {old.passage.id}", f"encoded again, {what}")
        for old, new in zip(stored, again, strict=True)
        for what in _differences(old.block, new.block)
    ]


def _differences(old: PhraseBlock, new: PhraseBlock) -> Iterator[str]:
    if not np.array_equal(old.token_ids, new.token_ids):
        yield "it has other tokens"
        return
    if not np.array_equal(old.lex_ids, new.lex_ids) or not np.array_equal(old.lex_impacts, new.lex_impacts):
        yield "it has other lexical terms"
    scales = np.array([old.passage_scale]), np.array([new.passage_scale])
    if _far(old.passage_vector[None], scales[0], new.passage_vector[None], scales[1]):
        yield "its passage vector is another"
    yield from (f"its {name} {what}" for name in SIDES for what in _side(getattr(old, name), getattr(new, name)))


def _side(old: Phrases, new: Phrases) -> Iterator[str]:
    common, left, right = np.intersect1d(old.positions, new.positions, return_indices=True)
    if len(common) < (1 - OTHER_POSITIONS) * max(len(old.positions), len(new.positions)):
        yield "positions are others"
    if _far(old.vectors[left], old.vector_scales[left], new.vectors[right], new.vector_scales[right]):
        yield "vectors are others"
    if _far(old.spans[left], old.span_scales[left], new.spans[right], new.span_scales[right]):
        yield "span vectors are others"


def _far(old: NDArray[np.int8], a: NDArray[np.floating], new: NDArray[np.int8], b: NDArray[np.floating]) -> bool:
    """Whether two quantised matrices differ by more than the tolerance."""
    if old.shape != new.shape:
        return True
    difference = np.abs(old * a[:, None].astype(np.float64) - new * b[:, None].astype(np.float64))
    return bool(np.any(difference > STEPS * np.maximum(a, b)[:, None] * 1.001))
