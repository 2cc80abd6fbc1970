"""Passages and documents of an index on a server by page, as a listing asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...errors import UsageError
from ...stored import DocumentFacts, ListedDocuments, ListedPassages, Listing
from . import queries
from .bodies import read_facts, read_tag

if TYPE_CHECKING:
    from .view import ServerView

_DEEPEST: Final = 10_000
"""Servers go no further into a list."""

_MOST_VALUES: Final = 5_000


def list_passages(view: ServerView, listing: Listing) -> ListedPassages:
    """One page of the passages that fit."""
    body = _page(listing) | {"stored_fields": ["facts"], "track_total_hits": True}
    answer = view.search(body)
    hits = answer["hits"]["hits"]
    passages = tuple(read_facts(hit["fields"]) for hit in hits[: listing.size])
    return ListedPassages(passages, int(answer["hits"]["total"]["value"]), len(hits) > listing.size)


def list_documents(view: ServerView, listing: Listing) -> ListedDocuments:
    """One page of the documents with a passage that fits."""
    body = _page(listing) | {"collapse": {"field": "document"}, "docvalue_fields": ["document"]}
    answer = view.search(body)
    ids = [str(hit["fields"]["document"][0]) for hit in answer["hits"]["hits"]]
    total = view.state.documents if _is_everything(listing) else None
    return ListedDocuments(tuple(_facts(view, ids[: listing.size])), total, len(ids) > listing.size)


def metadata_values(view: ServerView, k: int) -> dict[str, list[tuple[str, int]]]:
    """For each key of the metadata its k most frequent values."""
    body = {"size": 0, "aggs": {"tags": {"terms": {"field": "tags", "size": _MOST_VALUES}}}}
    answer = view.search(body)
    found: dict[str, list[tuple[str, int]]] = {}
    for bucket in answer["aggregations"]["tags"]["buckets"]:
        pair = read_tag(bucket["key"])
        if pair:
            found.setdefault(pair[0], []).append((pair[1], int(bucket["doc_count"])))
    ordered = {key: sorted(found[key], key=lambda pair: (-pair[1], pair[0])) for key in sorted(found)}
    return {key: values[:k] for key, values in ordered.items()}


def _facts(view: ServerView, ids: Sequence[str]) -> Iterable[DocumentFacts]:
    for record in view.records(ids):
        document = record.document
        yield DocumentFacts(document.id, document.title, document.source, document.metadata, len(record.passage_ids))


def _page(listing: Listing) -> dict[str, Any]:
    if listing.offset + listing.size >= _DEEPEST:
        raise UsageError(f"the list is shown up to its {_DEEPEST:,}th entry", "narrow it down")
    order = [{"generation": "asc"}, {"document": "asc"}, {"number": "asc"}]
    more = {"sort": order, "from": listing.offset, "size": listing.size + 1, "_source": False}
    return {"query": queries.listing(listing), **more}


def _is_everything(listing: Listing) -> bool:
    asked = (listing.text, listing.where, listing.without, listing.features, listing.without_features)
    return not any(asked) and not listing.document_id
