"""What is known of the features of an index on a server: how often each stands, how its values are spread.

Servers neither count nor list the names in a `rank_features` field. Words are counted in the statistics. Of n-grams
those in a sample of passages are candidates, and the server is asked how often each of them stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ...records import LEX, SIDES
from ...stored import FeatureCount, FeatureStatistics, most_frequent, spread
from . import queries
from .answers import whole
from .scan import pages

if TYPE_CHECKING:
    from .view import ServerView

_LOOKED_AT: Final = 300
"""Passages whose features are looked through."""

_TRIED: Final = 5
"""Candidates that are counted, for each that is wanted."""


def feature_statistics(view: ServerView, field: str, name: str, bins: int) -> FeatureStatistics:
    """What is known of one feature."""
    return spread(np.fromiter(_values(view, field, name), np.float64), bins)


def _values(view: ServerView, field: str, name: str) -> Iterator[float]:
    """The value of a feature in every passage that has it: the score of one linear clause."""
    query = queries.feature(field, name)
    sort = ({"_score": "desc"}, {"id": "asc"})
    for page in pages(view.server, view.state.passages_index, query, sort=sort, size=5_000):
        yield from (float(hit["sort"][0]) for hit in page)


def frequent_features(view: ServerView, field: str, k: int) -> list[FeatureCount]:
    """The k features of a field that stand in most passages: of words all, of n-grams those in a sample."""
    if field == LEX:
        counts = view.frequencies()
    else:
        sampled: Counter[str] = Counter()
        for features in view.features(view.sample(_LOOKED_AT)).values():
            sampled.update(features[field].keys())
        likely = [name for name, _ in sampled.most_common(_TRIED * k)]
        counts = Counter(dict(zip(likely, _counted(view, [(field, name) for name in likely]), strict=True)))
    return most_frequent(counts, k)


def features_like(view: ServerView, beginning: str, k: int) -> list[FeatureCount]:
    """Features whose name begins like this: words by the statistics, longer n-grams by what follows one in a sample."""
    before, space, _ = beginning.rpartition(" ")
    if not space:
        counts = view.frequencies()
        return most_frequent(Counter({name: n for name, n in counts.items() if name.startswith(beginning)}), k)
    query = queries.every(queries.feature(LEX, before.rpartition(" ")[2]))
    found: Counter[str] = Counter()
    hits = next(pages(view.server, view.state.passages_index, query, size=_LOOKED_AT), [])
    for features in view.features([hit["sort"][0] for hit in hits]).values():
        names = {name for field in SIDES for name in features[field] if name.startswith(beginning)}
        found.update(names)
    likely = [name for name, _ in found.most_common(k)]
    by_side = [_counted(view, [(side, name) for name in likely]) for side in SIDES]
    return most_frequent(Counter({name: max(pair) for name, *pair in zip(likely, *by_side, strict=True)}), k)


def _counted(view: ServerView, features: Sequence[tuple[str, str]]) -> list[int]:
    """In how many passages each stands."""
    if not features:
        return []
    found = [queries.every(queries.feature(field, name)) for field, name in features]
    answers = view.search_many([{"size": 0, "track_total_hits": True, "query": query} for query in found])
    return [int(whole(answer, view.server.shown)["hits"]["total"]["value"]) for answer in answers]
