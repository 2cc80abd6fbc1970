"""What is known of the features of an index on a server: how often each stands, how its values are spread.

Servers neither count nor list the names in a `rank_features` field. Words are counted in the statistics. Of n-grams
those in a sample of passages are candidates, and the server is asked how often each of them stands.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...interfaces import FeatureCount, FeatureStatistics
from .scan import every, pages
from .server import Server
from .view import View

_LOOKED_AT: Final = 300
"""Passages whose features are looked through."""

_TRIED: Final = 5
"""Candidates that are counted, for each that is wanted."""


def feature_statistics(server: Server, view: View, field: str, name: str, bins: int) -> FeatureStatistics:
    """What is known of one feature."""
    values = np.fromiter(_values(server, view, field, name), np.float64)
    if not len(values):
        return FeatureStatistics(0)
    top = float(values.max())
    counts, edges = np.histogram(values, bins, (0.0, top))
    return FeatureStatistics(
        len(values), float(values.min()), top, float(values.mean()), tuple(edges.tolist()), tuple(counts.tolist())
    )


def _values(server: Server, view: View, field: str, name: str) -> Iterator[float]:
    """The value of a feature in every passage that has it: the score of one linear clause."""
    query = feature_query(field, name)
    sort = ({"_score": "desc"}, {"id": "asc"})
    for page in pages(server, view.state.passages_index, query, sort=sort, size=5_000):
        yield from (float(hit["sort"][0]) for hit in page)


def feature_query(field: str, name: str) -> dict[str, Any]:
    """Passages with a feature; the score is its value."""
    return {"rank_feature": {"field": f"{field}.{name}", "linear": {}}}


def frequent_features(server: Server, view: View, field: str, k: int) -> list[FeatureCount]:
    """The k features of a field that stand in most passages: of words all, of n-grams those in a sample."""
    if field == "lex":
        counts = view.frequencies()
    else:
        sampled: Counter[str] = Counter()
        for features in view.features(sample(view, _LOOKED_AT)).values():
            sampled.update(features[field].keys())
        likely = [name for name, _ in sampled.most_common(_TRIED * k)]
        counts = Counter(dict(zip(likely, _counted(server, view, [(field, name) for name in likely]), strict=True)))
    return _first(counts, k)


def features_like(server: Server, view: View, beginning: str, k: int) -> list[FeatureCount]:
    """Features whose name begins like this: words by the statistics, longer n-grams by what follows one in a sample."""
    before, space, _ = beginning.rpartition(" ")
    if not space:
        counts = view.frequencies()
        return _first(Counter({name: n for name, n in counts.items() if name.startswith(beginning)}), k)
    query = every(feature_query("lex", before.rpartition(" ")[2]))
    found: Counter[str] = Counter()
    hits = next(pages(server, view.state.passages_index, query, size=_LOOKED_AT), [])
    for features in view.features([hit["sort"][0] for hit in hits]).values():
        names = {name for field in ("start", "end") for name in features[field] if name.startswith(beginning)}
        found.update(names)
    likely = [name for name, _ in found.most_common(k)]
    starts = _counted(server, view, [("start", name) for name in likely])
    ends = _counted(server, view, [("end", name) for name in likely])
    return _first(Counter({name: max(pair) for name, *pair in zip(likely, starts, ends, strict=True)}), k)


def _first(counts: Counter[str], k: int) -> list[FeatureCount]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [FeatureCount(name, count) for name, count in ordered[:k] if count > 0]


def _counted(server: Server, view: View, features: Sequence[tuple[str, str]]) -> list[int]:
    """In how many passages each stands."""
    if not features:
        return []
    lines = []
    for field, name in features:
        body = {"size": 0, "track_total_hits": True, "query": every(feature_query(field, name))}
        lines.append(f'{{"index":"{view.state.passages_index}"}}\n{json.dumps(body)}\n')
    answers = server.request("POST", "/_msearch", "".join(lines))["responses"]
    return [int(answer["hits"]["total"]["value"]) for answer in answers]


def sample(view: View, count: int) -> list[str]:
    """The ids of so many passages, evenly spread over the ids."""
    ids = view.matching({})
    return [ids[n] for n in sorted({number * len(ids) // count for number in range(count)})] if ids else []
