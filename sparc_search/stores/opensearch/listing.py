"""Passages and documents of an index on a server by page, as a listing asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import UsageError
from ...records import Passage
from ...stored import (
    ORDERS,
    DocumentFacts,
    Facets,
    FeatureStatistics,
    ListedDocuments,
    ListedPassages,
    Listing,
    folders_of,
    spread,
)
from . import queries
from .bodies import read_facts, read_tag

if TYPE_CHECKING:
    from .view import ServerView

_DEEPEST: Final = 10_000
"""Servers go no further into a list."""

_MOST_VALUES: Final = 5_000
_BINS: Final = 24


def list_passages(view: ServerView, listing: Listing) -> ListedPassages:
    """One page of the passages that fit."""
    body = _reachable(listing) | {"stored_fields": ["facts"], "docvalue_fields": ["id"], "track_total_hits": True}
    answer = view.search(body)
    hits = answer["hits"]["hits"][: listing.size]
    total = int(answer["hits"]["total"]["value"])
    passages = tuple(read_facts(hit["fields"]) for hit in hits)
    return ListedPassages(passages, total, listing.offset + listing.size < total, _weights(view, listing, passages))


def _weights(view: ServerView, listing: Listing, passages: Sequence[Passage]) -> tuple[tuple[float, ...], ...]:
    if not listing.weighed or not passages:
        return ()
    features = view.features([passage.id for passage in passages])
    return tuple(tuple(features[passage.id][one.field][one.value] for one in listing.weighed) for passage in passages)


def list_documents(view: ServerView, listing: Listing) -> ListedDocuments:
    """One page of the documents with a passage that fits."""
    count = {"cardinality": {"field": "document", "precision_threshold": 40_000}}
    body = _reachable(replace(listing, order=""))
    body |= {"collapse": {"field": "document"}, "docvalue_fields": ["document"], "aggs": {"all": count}}
    answer = view.search(body)
    ids = [str(hit["fields"]["document"][0]) for hit in answer["hits"]["hits"]]
    total = int(answer["aggregations"]["all"]["value"]) if listing.conditions else view.state.documents
    return ListedDocuments(tuple(_facts(view, ids[: listing.size])), total, len(ids) > listing.size)


def facets(view: ServerView, listing: Listing, k: int) -> Facets:
    """What all passages that fit have in common."""
    fields = {"tags": "tags", "sources": "source"}
    terms = {name: {"terms": {"field": field, "size": _MOST_VALUES}} for name, field in fields.items()}
    found = view.search({"size": 0, "query": queries.listing(listing), "aggs": terms})["aggregations"]
    sources = {bucket["key"]: int(bucket["doc_count"]) for bucket in found["sources"]["buckets"]}
    metadata = {key: tuple(values[:k]) for key, values in _by_key(found["tags"]["buckets"]).items()}
    return Facets(metadata, folders_of(sources, k), _spread(view, listing))


def count_features(view: ServerView, listing: Listing, features: Sequence[tuple[str, str]]) -> list[int]:
    """In how many of the passages that fit each of these features stands."""
    filters = {"filters": [queries.feature(*one) for one in features]}
    if not features:
        return []
    found = view.search({"size": 0, "query": queries.listing(listing), "aggs": {"having": {"filters": filters}}})
    return [int(bucket["doc_count"]) for bucket in found["aggregations"]["having"]["buckets"]]


def _spread(view: ServerView, listing: Listing) -> FeatureStatistics | None:
    """The weights of the first feature, whatever its own limits; of the heaviest, where there are very many."""
    if not listing.weighed:
        return None
    first = listing.weighed[0]
    same = (first.field, first.value)
    others = Listing(more=tuple(one for one in listing.conditions if (one.field, one.value) != same))
    query = {"bool": {"must": [queries.feature(first.field, first.value)], "filter": [queries.listing(others)]}}
    answer = view.search({"query": query, "size": _DEEPEST, "_source": False})
    return spread(np.array([hit["_score"] for hit in answer["hits"]["hits"]], np.float64), _BINS)


def metadata_values(view: ServerView, k: int) -> dict[str, list[tuple[str, int]]]:
    """For each key of the metadata its k most frequent values."""
    answer = view.search({"size": 0, "aggs": {"tags": {"terms": {"field": "tags", "size": _MOST_VALUES}}}})
    return {key: values[:k] for key, values in _by_key(answer["aggregations"]["tags"]["buckets"]).items()}


def _by_key(buckets: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[str, int]]]:
    """Key -> its values with their passages, most frequent first."""
    found: dict[str, list[tuple[str, int]]] = {}
    for bucket in buckets:
        pair = read_tag(bucket["key"])
        if pair:
            found.setdefault(pair[0], []).append((pair[1], int(bucket["doc_count"])))
    return {key: sorted(found[key], key=lambda pair: (-pair[1], pair[0])) for key in sorted(found)}


def _facts(view: ServerView, ids: Sequence[str]) -> Iterable[DocumentFacts]:
    for record in view.records(ids):
        document = record.document
        yield DocumentFacts(document.id, document.title, document.source, document.metadata, len(record.passage_ids))


def _reachable(listing: Listing) -> dict[str, Any]:
    """The search for one page, if servers go so far."""
    if listing.offset + listing.size >= _DEEPEST:
        raise UsageError(f"the list is shown up to its {_DEEPEST:,}th entry", "narrow it down")
    return page(listing)


def page(listing: Listing) -> dict[str, Any]:
    """The search for one page of a listing, and one more hit to know whether there is another page."""
    more = {"sort": _order(listing), "from": listing.offset, "size": listing.size + 1, "_source": False}
    return {"query": _scored(listing), **more}


def _scored(listing: Listing) -> dict[str, Any]:
    """The query; where weights decide the order, with the weight of the first feature as its score."""
    found = queries.listing(listing)
    if listing.order.removeprefix("-") != "weight" or not listing.weighed:
        return found
    first = listing.weighed[0]
    return {"bool": {"must": [queries.feature(first.field, first.value)], "filter": [found]}}


def _order(listing: Listing) -> list[dict[str, Any]]:
    name, direction = listing.order.removeprefix("-"), "desc" if listing.order.startswith("-") else "asc"
    if name not in ORDERS:
        raise UsageError(f"a list cannot be ordered by {name!r}", f"choose one of: {', '.join(ORDERS[1:])}")
    as_they_came = [{"generation": "asc"}, {"document": "asc"}, {"number": "asc"}]
    if name == "":
        return [{key: direction} for one in as_they_came for key in one]
    return [{"_score" if name == "weight" else name: direction}, *as_they_came]
