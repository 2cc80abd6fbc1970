"""Sparse search on a server: exact order, ties by passage id.

Servers add up in 32 bits. Where two scores are so close that this may have changed their order, the features of those
passages are read and added up here in 64 bits, as the local engine does; that is rare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...records import Features
from ...stored import Hit
from . import queries

MARGIN: Final = 10
"""Hits beyond the k that are wanted, to see what else came close."""

CLOSE: Final = 1e-6
"""Two scores that differ by less than this share of the larger may be in the wrong order."""

_TIME: Final = "30s"


def body(query: Features, size: int, where: Mapping[str, str], *, count_hits: bool) -> dict[str, Any]:
    """A search for the passages with the highest dot product: their ids and scores alone."""
    more = {"_source": False, "track_total_hits": count_hits, "timeout": _TIME}
    return queries.sparse_search(query, size, where) | more


def read_hits(answer: Mapping[str, Any]) -> list[Hit]:
    """The hits of an answer."""
    return [Hit(hit["sort"][1], float(hit["sort"][0])) for hit in answer["hits"]["hits"]]


def unsure(hits: Sequence[Hit], k: int) -> list[str]:
    """Ids whose order the scores do not decide, as far as it matters for the first k."""
    ids: list[str] = []
    begin = 0
    while begin < min(k, len(hits)):
        end = begin + 1
        while end < len(hits) and close(hits[end - 1], hits[end]):
            end += 1
        if end - begin > 1:
            ids += [hit.passage_id for hit in hits[begin:end]]
        begin = end
    return ids


def close(higher: Hit, lower: Hit) -> bool:
    """Whether two scores may be in the wrong order."""
    return higher.score - lower.score <= CLOSE * higher.score


def exact_score(query: Features, features: Features) -> float:
    """The dot product in 64 bits, added in the order of `clauses`."""
    total = 0.0
    for field, name, weight in queries.clauses(query):
        value = features.get(field, {}).get(name)
        if value:
            total += weight * value
    return total
