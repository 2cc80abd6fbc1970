"""What is known of the features of one state: how often each stands, how its values are spread, how it is named.

Postings know features by a hash. The names of those that lead a ranking are kept with each segment (`figures`).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...records import LEX, SIDES
from ...stored import FeatureCount, FeatureFigures, FeatureStatistics, most_frequent, spread
from ..features import as_features, decode_features
from ..packing import unshorten
from . import figures
from .figures import Figures
from .postings import hashed, numbered
from .rows import checked, select, sources
from .segment import Mask, Segment

if TYPE_CHECKING:
    from .view import LocalView

_AT_ONCE = 4096
"""Passages whose features are in memory at a time."""

_LOOKED_AT = 40
"""Passages whose features are looked through for the further words of an n-gram."""


def feature_values(view: LocalView, field: str, name: str) -> NDArray[np.float32]:
    """The value of a feature in every passage that has it."""
    return weighed(view, field, name)[1]


def rows_with(view: LocalView, field: str, name: str) -> NDArray[np.int64]:
    """The rows of the database, of passages alive, that have a feature."""
    return weighed(view, field, name)[0]


def weighed(view: LocalView, field: str, name: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows, of passages alive, that have a feature, and its values there."""
    found = list(_postings(view, field, name))
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in found)])
    return rows, np.concatenate([np.zeros(0, np.float32), *(values for _, values in found)])


def _postings(view: LocalView, field: str, name: str) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Segment by segment, the rows of passages alive that have a feature, and its values there."""
    query = hashed({field: {name: 1.0}})
    for segment, alive in _segments(view):
        for entries in segment.postings.find(query).entries:
            numbers, short = segment.postings.entries([entries])
            kept = slice(None) if alive is None else alive[numbers]
            yield segment.rows[numbers[kept]], unshorten(short[kept])


def feature_statistics(view: LocalView, field: str, name: str, bins: int) -> FeatureStatistics:
    """What is known of one feature."""
    return spread(feature_values(view, field, name).astype(np.float64), bins)


def feature_figures(view: LocalView) -> list[FeatureFigures]:
    """Figures of the features that lead any ranking, of passages alive alone; counted once for a state."""
    if not view.state.known:
        view.state.known.update(_counted(view))
    return list(view.state.known.values())


def _counted(view: LocalView) -> Figures:
    """From what each segment keeps; what one does not keep is read from its postings, as is all where some are dead."""
    kept = [(segment, alive, kept_figures(view.connection, segment)) for segment, alive in _segments(view)]
    names = list(dict.fromkeys(name for _, _, own in kept for name in own))
    parts = []
    for segment, alive, own in kept:
        unknown = names if alive is not None else [name for name in names if name not in own]
        parts.append({**own, **figures.of_postings(segment.postings, unknown, alive)})
    return figures.together(parts)


def kept_figures(connection: sqlite3.Connection, segment: Segment) -> Figures:
    """The figures of a segment; of one that was written without, from the features of all its passages."""
    own = segment.figures()
    if own is not None:
        return own
    names: dict[str, None] = {}
    for begin in range(0, len(segment), _AT_ONCE):
        rows = segment.rows[begin : begin + _AT_ONCE]
        passages = [source.features for source in sources(connection, int(rows[0]), int(rows[-1]))]
        names |= dict.fromkeys(figures.of_passages(numbered(passages), len(passages)))
    return figures.of_postings(segment.postings, names)


def frequent_features(view: LocalView, field: str, k: int) -> list[FeatureCount]:
    """The k features of a field that stand in most passages."""
    return most_frequent({own.name: getattr(own, field)[0] for own in feature_figures(view)}, k)


def features_like(view: LocalView, beginning: str, k: int) -> list[FeatureCount]:
    """Features whose name begins like this: words by their frequencies, longer n-grams by what follows a word."""
    before, space, _ = beginning.rpartition(" ")
    if not space:
        query = (
            "SELECT name, passages FROM frequencies WHERE name >= ? AND name < ? ORDER BY passages DESC, name LIMIT ?"
        )
        return [FeatureCount(*row) for row in view.connection.execute(query, (beginning, beginning + "\U0010ffff", k))]
    found = Counter({own.name: own.passages for own in feature_figures(view) if own.name.startswith(beginning)})
    rows = rows_with(view, LEX, before.rpartition(" ")[2])
    for row in rows[:: max(len(rows) // _LOOKED_AT, 1)][:_LOOKED_AT].tolist():
        found.update({name for _, name in _names(view, row) if name.startswith(beginning)})
    likely = [name for name, _ in found.most_common(k)]
    return most_frequent({name: max(len(feature_values(view, field, name)) for field in SIDES) for name in likely}, k)


def features(view: LocalView, passage_ids: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """The features of passages, by id."""
    query = (
        "SELECT p.id, e.features, e.features_checksum FROM passages p JOIN encoded e ON e.passage = p.row WHERE p.id IN"
    )
    return {
        id: as_features(decode_features(checked(id, data, checksum)))
        for id, data, checksum in select(view.connection, query, passage_ids)
    }


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
