"""Queries for a server, each built in one place, for searching as well as for showing them to a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...records import FIELDS, Features
from ...stored import METADATA, Condition, Listing
from ..standard_words import standard_words
from .bodies import tag

MOST_CLAUSES: Final = 1_000
"""Servers take 1,024."""

_LEAST: Final = 1.2e-38
_WILD: Final = re.compile(r"[*?\\]")


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
    filters = [condition(one) for one in wanted.conditions if not one.negated]
    without = [condition(one) for one in wanted.conditions if one.negated]
    parts = {name: found for name, found in (("filter", filters), ("must_not", without)) if found}
    return {"bool": parts} if parts else match_all()


def condition(wanted: Condition) -> dict[str, Any]:
    """The passages that have what a condition names."""
    field, value = wanted.field, wanted.value
    if wanted.is_feature:
        return _weighing(wanted)
    if field.startswith(METADATA):
        return {"term": {"tags": {"value": tag(field.removeprefix(METADATA), value)}}}
    if field == "document":
        return {"term": {"document": {"value": value}}}
    if field == "folder":
        return {"prefix": {"source": {"value": value.rstrip("/") + "/"}}}
    return _holding(wanted)


def _weighing(wanted: Condition) -> dict[str, Any]:
    """The passages in which a feature weighs so much: a score of at least, and not of at least."""
    there = feature(wanted.field, wanted.value)
    least = {"function_score": {"query": there, "min_score": wanted.least}} if wanted.least > 0 else there
    if wanted.below is None:
        return least
    above = {"function_score": {"query": there, "min_score": wanted.below}}
    return {"bool": {"filter": [least], "must_not": [above]}}


def every(*wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What fits all conditions."""
    return {"bool": {"filter": list(wanted)}} if wanted else match_all()


def match_all() -> dict[str, Any]:
    """A query that every document fits."""
    return {"match_all": {}}


def _metadata(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"term": {"tags": {"value": tag(key, value)}}} for key, value in pairs]


def _holding(wanted: Condition) -> dict[str, Any]:
    """Words in text or title, the last of which may go on (or all one after the other); or a part of a metadata value.

    The words are cut here as the server has cut the texts, so that a local index finds the same (`standard_words`).
    """
    fields, words = [wanted.field] if wanted.field else ["text", "title"], standard_words(wanted.value)
    found = [_words(field, words, whole=wanted.whole) for field in fields if words]
    if not wanted.field:
        inside = _WILD.sub(r"\\\g<0>", wanted.value)
        found.append({"wildcard": {"tags": {"value": f"*=*{inside}*", "case_insensitive": True}}})
    return {"bool": {"should": found, "minimum_should_match": 1}} if found else {"match_none": {}}


def _words(field: str, words: list[str], *, whole: bool) -> dict[str, Any]:
    if whole:
        return {"match_phrase": {field: {"query": " ".join(words)}}}
    last = {"prefix": {field: {"value": words[-1]}}}
    return every(*({"term": {field: {"value": word}}} for word in words[:-1]), last) if words[1:] else last
