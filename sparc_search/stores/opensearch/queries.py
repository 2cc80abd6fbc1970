"""Queries for a server, each built in one place, for searching as well as for showing them to a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...records import FIELDS, Features
from ...stored import Listing
from .bodies import tag

MOST_CLAUSES: Final = 1_000
"""Servers take 1,024."""

_LEAST: Final = 1.2e-38


def clauses(query: Features) -> list[tuple[str, str, float]]:
    """(field, name, weight) of a sparse query, in an order that depends on nothing but its names."""
    found = [
        (field, name, float(weight))
        for field, weights in sorted(query.items())
        for name, weight in sorted(weights.items())
        if field in FIELDS and weight > _LEAST
    ]
    if len(found) > MOST_CLAUSES:
        heaviest = sorted(found, key=lambda clause: -clause[2])[:MOST_CLAUSES]
        found = sorted(heaviest)
    return found


def sparse_search(query: Features, size: int, where: Mapping[str, str]) -> dict[str, Any]:
    """The passages with the highest dot product: one linear clause for each feature, its weight the boost."""
    should = [feature(field, name, weight) for field, name, weight in clauses(query)]
    found: dict[str, Any] = {"should": should, "minimum_should_match": 1}
    if where:
        found["filter"] = conditions(where)
    return {"query": {"bool": found}, "size": size, "sort": ["_score", {"id": "asc"}]}


def feature(field: str, name: str, weight: float = 1.0) -> dict[str, Any]:
    """The passages with a feature; the score is its value times the weight."""
    return {"rank_feature": {"field": f"{field}.{name}", "linear": {}, "boost": weight}}


def conditions(where: Mapping[str, str]) -> list[dict[str, Any]]:
    """Metadata that a passage must have, as filters."""
    return _metadata(sorted(where.items()))


def listing(wanted: Listing) -> dict[str, Any]:
    """The passages that a listing asks for."""
    filters = [_holding(word) for word in wanted.text.split()]
    filters += [*_metadata(wanted.where), *(feature(*pair) for pair in wanted.features)]
    if wanted.document_id:
        filters.append({"term": {"document": {"value": wanted.document_id}}})
    without = [*_metadata(wanted.without), *(feature(*pair) for pair in wanted.without_features)]
    parts = {name: found for name, found in (("filter", filters), ("must_not", without)) if found}
    return {"bool": parts} if parts else match_all()


def every(*wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What fits all conditions."""
    return {"bool": {"filter": list(wanted)}} if wanted else match_all()


def match_all() -> dict[str, Any]:
    """A query that every document fits."""
    return {"match_all": {}}


def _metadata(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"term": {"tags": {"value": tag(key, value)}}} for key, value in pairs]


def _holding(word: str) -> dict[str, Any]:
    """A word, or the beginning of one, in text or title; or a piece of metadata that is just this."""
    written = {"multi_match": {"query": word, "fields": ["text", "title"], "type": "phrase_prefix"}}
    return {"bool": {"should": [written, {"term": {"metadata": {"value": word}}}], "minimum_should_match": 1}}
