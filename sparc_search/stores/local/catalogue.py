"""What is known of the features of one state: how often each stands, how its values are spread, how it is named.

Postings know features by a hash. The name behind one is found in the features of a passage that has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...records import LEX, SIDES
from ...stored import FeatureCount, FeatureStatistics, most_frequent, spread
from ..features import decode_features
from ..packing import unshorten
from .postings import hash_of, hashed
from .segment import Mask, Segment

if TYPE_CHECKING:
    from .view import LocalView

_LOOKED_AT = 300
"""Passages whose features are looked through for the further words of an n-gram."""


def feature_values(view: LocalView, field: str, name: str) -> NDArray[np.float32]:
    """The value of a feature in every passage that has it."""
    return np.concatenate([np.zeros(0, np.float32), *(values for _, values in _postings(view, field, name))])


def rows_with(view: LocalView, field: str, name: str) -> NDArray[np.int64]:
    """The rows of the database, of passages alive, that have a feature."""
    return np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in _postings(view, field, name))])


def _postings(view: LocalView, field: str, name: str) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Segment by segment, the rows of passages alive that have a feature, and its values there."""
    query = hashed({field: {name: 1.0}})
    for segment, alive in _segments(view):
        for entries in segment.postings.find(query).entries:
            numbers, values = segment.postings.rows[entries], unshorten(segment.postings.values[entries])
            kept = slice(None) if alive is None else alive[numbers]
            yield segment.rows[numbers[kept]], values[kept]


def feature_statistics(view: LocalView, field: str, name: str, bins: int) -> FeatureStatistics:
    """What is known of one feature."""
    return spread(feature_values(view, field, name).astype(np.float64), bins)


def frequent_features(view: LocalView, field: str, k: int) -> list[FeatureCount]:
    """The k features of a field that stand in most passages."""
    names: dict[int, tuple[str, str]] = {}
    found: list[FeatureCount] = []
    for key, count in _most_frequent(view):
        # All that are as frequent as the k-th count, so that the names decide.
        if len(found) >= k and (count < found[k - 1].passages or len(found) >= 20 * k):
            break
        if key not in names:
            names.update(_names_near(view, key))
        own_field, name = names[key]
        if own_field == field:
            found.append(FeatureCount(name, count))
    return sorted(found, key=lambda feature: (-feature.passages, feature.name))[:k]


def features_like(view: LocalView, beginning: str, k: int) -> list[FeatureCount]:
    """Features whose name begins like this: words by their frequencies, longer n-grams by what follows a word."""
    before, space, _ = beginning.rpartition(" ")
    if not space:
        query = (
            "SELECT name, passages FROM frequencies WHERE name >= ? AND name < ? ORDER BY passages DESC, name LIMIT ?"
        )
        return [FeatureCount(*row) for row in view.connection.execute(query, (beginning, beginning + "\U0010ffff", k))]
    numbers: Counter[str] = Counter()
    rows = rows_with(view, LEX, before.rpartition(" ")[2])
    for row in rows[:: max(len(rows) // _LOOKED_AT, 1)][:_LOOKED_AT].tolist():
        numbers.update({name for _, name in _names(view, row) if name.startswith(beginning)})
    likely = [name for name, _ in numbers.most_common(k)]
    return most_frequent({name: max(len(feature_values(view, field, name)) for field in SIDES) for name in likely}, k)


def _most_frequent(view: LocalView) -> Iterator[tuple[int, int]]:
    """Hash (its first part) and number of passages of every feature, of any field, the most frequent first."""
    keys, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for segment, alive in _segments(view):
        segment.postings.touch_all()
        keys.append(segment.postings.keys)
        counts.append(_counts(segment, alive))
    known, which = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(which, np.concatenate(counts), minlength=len(known)).astype(np.int64)
    for place in np.argsort(-total, kind="stable"):
        if not total[place]:
            return
        yield int(known[place]), int(total[place])


def _counts(segment: Segment, alive: Mask | None) -> NDArray[np.int64]:
    offsets = segment.postings.offsets.astype(np.int64)
    if alive is None or not len(segment.postings.keys):
        return np.diff(offsets)
    return np.add.reduceat(alive[segment.postings.rows].astype(np.int64), offsets[:-1])


def _names_near(view: LocalView, key: int) -> dict[int, tuple[str, str]]:
    """Field and name of the feature with this hash, and of all others of the same passage."""
    for segment, alive in _segments(view):
        place = int(np.searchsorted(segment.postings.keys, np.uint64(key)))
        if place < len(segment.postings.keys) and int(segment.postings.keys[place]) == key:
            offsets = segment.postings.offsets
            numbers = segment.postings.rows[int(offsets[place]) : int(offsets[place + 1])]
            living = numbers if alive is None else numbers[alive[numbers]]
            if len(living):
                row = int(segment.rows[living[0]])
                return {hash_of(field, name)[0]: (field, name) for field, name in _names(view, row)}
    raise KeyError(key)


def _names(view: LocalView, row: int) -> Iterator[tuple[str, str]]:
    """Every (field, name) of a passage."""
    (data,) = view.connection.execute("SELECT features FROM encoded WHERE passage = ?", (row,)).fetchone()
    return ((values.field, name) for values in decode_features(data) for name in values.names)


def _segments(view: LocalView) -> Iterator[tuple[Segment, Mask | None]]:
    return zip(view.state.segments, view.state.alive, strict=True)


def sample(view: LocalView, count: int) -> list[str]:
    """The ids of so many passages, evenly spread over the rows."""
    low, high = view.connection.execute("SELECT coalesce(min(row), 0), coalesce(max(row), -1) FROM passages").fetchone()
    query = "SELECT id FROM passages WHERE row >= ? ORDER BY row LIMIT 1"
    points = sorted({low + number * (high - low + 1) // count for number in range(count)}) if high >= low else []
    found = (view.connection.execute(query, (point,)).fetchone() for point in points)
    return list(dict.fromkeys(row[0] for row in found if row))
