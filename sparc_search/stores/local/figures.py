"""Figures of the features that lead any ranking: kept with each segment, so that no page has to count all postings.

A feature has, for each field, the number of passages it stands in and the sum of its values there. Which features are
kept is decided when a segment is made: the most frequent ones of each field, and those whose learned weight is large,
or far from their tf-idf. Two segments that become one bring their names; the figures are then read from the postings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ...records import FIELDS
from ...stored import FeatureFigures, disagreements, learned
from ..packing import unshorten
from ..page_sums import Pages

if TYPE_CHECKING:
    from .postings import Numbered, Postings
    from .segment import Mask

FILE: Final = "features.json"
MOST: Final = 200
"""Features kept of each ranking."""

Figures = Mapping[str, FeatureFigures]
"""By name."""


def of_passages(fields: Sequence[Numbered], passages: int) -> Figures:
    """The figures of those features of some passages that lead a ranking."""
    names = list(dict.fromkeys(name for numbered in fields for name in numbered.names))
    place = {name: number for number, name in enumerate(names)}
    counts, sums = np.zeros((len(FIELDS), len(names)), np.int64), np.zeros((len(FIELDS), len(names)))
    for numbered in fields:
        own = np.fromiter(map(place.__getitem__, numbered.names), np.int64, len(numbered.names))
        ids = np.concatenate([np.zeros(0, np.uint32), *(part[0] for part in numbered.parts)])
        values = np.concatenate([np.zeros(0, np.uint16), *(part[1] for part in numbered.parts)])
        row = FIELDS.index(numbered.field)
        counts[row, own] = np.bincount(ids, minlength=len(own))
        sums[row, own] = np.bincount(ids, unshorten(values), minlength=len(own))
    return leading(names, counts, sums, passages)


def of_postings(postings: Postings, names: Iterable[str], alive: Mask | None = None) -> Figures:
    """The figures of these features, read from their postings; those of passages alive alone, if a mask says which."""
    from .postings import hashed

    found = {}
    for name in names:
        by_field = []
        for field in FIELDS:
            count, total = 0, 0.0
            for entries in postings.find(hashed({field: {name: 1.0}})).entries:
                rows, short = postings.entries([entries])
                values = unshorten(short if alive is None else short[alive[rows]])
                count, total = count + len(values), total + float(values.sum(dtype=np.float64))
            by_field.append((count, total))
        found[name] = FeatureFigures(name, *by_field)
    return found


def leading(names: Sequence[str], counts: NDArray[Any], sums: NDArray[Any], passages: int) -> Figures:
    """Of these features, with counts and sums by field, those that lead a ranking."""
    means = sums / np.maximum(counts, 1)
    weight, difference = learned(counts, means, passages), disagreements(counts, means, passages)
    rankings = [*counts.astype(np.float64), weight, difference, -difference]
    best = {int(place) for ranking in rankings for place in _highest(ranking)}
    return {
        names[place]: FeatureFigures(
            names[place], *((int(n), float(total)) for n, total in zip(counts[:, place], sums[:, place], strict=True))
        )
        for place in sorted(best)
    }


def _highest(ranking: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places of the highest above zero, and of all that are as high as the last of them, within reason."""
    order = np.argsort(-ranking, kind="stable")[: 2 * MOST]
    order = order[ranking[order] > 0]
    return order[ranking[order] >= ranking[order[min(MOST, len(order)) - 1]]] if len(order) else order


def chosen(figures: Figures, passages: int) -> Figures:
    """Those of some features that lead a ranking."""
    names = list(figures)
    table = np.array([list(figures[name].by_field) for name in names], np.float64).reshape(-1, 3, 2)
    return leading(names, table[:, :, 0].T.astype(np.int64), table[:, :, 1].T, passages)


def together(parts: Iterable[Figures]) -> Figures:
    """The figures of several segments as one; each part knows every name."""
    total: dict[str, FeatureFigures] = {}
    for part in parts:
        for name, own in part.items():
            total[name] = total[name] + own if name in total else own
    return {name: own for name, own in total.items() if own.passages}


def write(figures: Figures, folder: Path) -> None:
    """Write the figures of a segment beside its other files."""
    rows = [[own.name, *own.by_field] for own in figures.values()]
    (folder / FILE).write_text(json.dumps(rows), encoding="ascii")


def read(file: Pages | None) -> Figures | None:
    """The figures of a segment; None if it was written without."""
    if file is None:
        return None
    rows = json.loads(file.data())
    return {name: FeatureFigures(name, *((int(count), float(total)) for count, total in own)) for name, *own in rows}
