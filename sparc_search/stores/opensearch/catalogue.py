"""What is known of the features of an index on a server: how often each stands, how its values are spread.

Servers neither count nor list the names in a `rank_features` field. Words are counted in the statistics. Of n-grams
those in a sample of passages are candidates, and the server is asked how often each of them stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ...records import FIELDS, LEX, SIDES
from ...stored import FeatureCount, FeatureFigures, FeatureStatistics, most_frequent, spread
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


def feature_figures(view: ServerView) -> list[FeatureFigures]:
    """Features that lead a ranking, from a sample: a server cannot add up the values of a feature.

    Passages are counted on the whole index, and what a feature weighs in the sample stands for what it weighs there.
    """
    found = view.features(view.sample(_LOOKED_AT))
    names = {name for own in found.values() for values in own.values() for name in values}
    sampled = {name: FeatureFigures(name) for name in names}
    for own in found.values():
        for name in set().union(*own.values()):
            once = ((1, own[field][name]) if name in own[field] else (0, 0.0) for field in FIELDS)
            sampled[name] = sampled[name] + FeatureFigures(name, *once)
    factor = view.state.passages / (len(found) or 1)
    words = view.frequencies()
    return [_scaled(own, factor, words.get(own.name, 0)) for own in sampled.values() if own.passages > 1]


def _scaled(own: FeatureFigures, factor: float, words: int) -> FeatureFigures:
    """The figures of a sample as those of all passages."""
    pairs = [(round(count * factor), total * factor) for count, total in own.by_field]
    if words and own.lex[0]:
        pairs[2] = (words, own.mean(LEX) * words)
    return FeatureFigures(own.name, *pairs)


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
