"""Borders and alignments of passages as JSON and as bytes, the same for every engine and for exports.

A border before a paragraph, which is what most are, is its offset alone; any other is `[offset, kind]`. So what older
versions wrote, a list of offsets, reads as borders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from ..records import AlignedPiece, Border, BorderKind

_KINDS = frozenset(get_args(BorderKind))
_PIECE = len(AlignedPiece._fields)


def plain_borders(borders: Iterable[Border]) -> list[Any]:
    """Borders, fit for JSON."""
    return [offset if kind == "paragraph" else [offset, kind] for offset, kind in borders]


def read_borders(plain: Iterable[Any]) -> tuple[Border, ...]:
    """Borders from what `plain_borders` made; `ValueError` if it is anything else."""
    borders = tuple(Border(entry) if isinstance(entry, int) else Border(*entry) for entry in plain)
    if any(not isinstance(border.offset, int) or border.kind not in _KINDS for border in borders):
        raise ValueError("a border is no offset with a known kind")
    return borders


def read_alignment(plain: Iterable[Sequence[int]] | None) -> tuple[AlignedPiece, ...]:
    """The pieces of an alignment from lists of four numbers."""
    return tuple(AlignedPiece(*map(int, piece)) for piece in plain or ())


def read_structure(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a passage from JSON, borders and alignment as records."""
    structure = {"borders": read_borders(facts["borders"]), "alignment": read_alignment(facts.get("alignment"))}
    return {**facts, **structure}


def pack_alignment(pieces: Sequence[AlignedPiece]) -> bytes | None:
    """Four `<u4` for each piece; None if there is none."""
    return np.array(pieces, "<u4").tobytes() if pieces else None


def unpack_alignment(data: bytes | None) -> tuple[AlignedPiece, ...]:
    """The pieces that `pack_alignment` packed."""
    return read_alignment(np.frombuffer(data, "<u4").reshape(-1, _PIECE).tolist()) if data else ()
