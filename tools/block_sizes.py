"""How many bytes of stored phrase blocks each of their parts takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from sparc_search.stores.block_layout import Column, column_ends, read_heads, read_matrices

_PARTS: Final[Mapping[str, tuple[Column, ...]]] = {
    "start and end vectors": (Column.START_VECTORS, Column.END_VECTORS),
    "span vectors": (Column.START_SPANS, Column.END_SPANS),
    "scales of the vectors": (
        Column.START_SCALES,
        Column.START_SPAN_SCALES,
        Column.END_SCALES,
        Column.END_SPAN_SCALES,
    ),
    "n-gram weights: values": (Column.VALUES,),
    "n-gram weights: for whom": (Column.ROWS,),
    "n-gram weights: how many": (Column.FILLED, Column.COUNTS),
    "passage vector": (Column.PASSAGE_VECTOR,),
    "tokens and their flags": (Column.TOKEN_IDS, Column.FLAGS),
    "offsets in the text": (Column.OFFSETS,),
    "kept positions": (Column.START_POSITIONS, Column.END_POSITIONS),
    "lexical terms": (Column.TERMS, Column.OTHER_TERMS, Column.IMPACTS, Column.TERM_IMPACTS),
}


def bytes_by_part(blocks: Iterable[bytes]) -> dict[str, int]:
    """The bytes of all blocks together, largest part first; they sum to their length."""
    found: Counter[str] = Counter()
    for data in blocks:
        heads = read_heads([data])
        matrices = read_matrices([data], int(heads["start_matrices"][0]) + int(heads["end_matrices"][0]))
        ends = column_ends(heads, matrices)[0]
        sizes = np.diff(ends)
        found["heads"] += int(ends[0])
        for part, columns in _PARTS.items():
            found[part] += int(sizes[list(columns)].sum())
    return dict(found.most_common())
