"""What is asked here, as a query for OpenSearch: to be pasted into its console.

Fields are those of the project's own mappings (`mappings/`): `start`, `end`, `lex` (rank_features), `text`, `title`,
`id`, `document`, `tags` (metadata).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..index import Index, cleaned
from ..interfaces import Listing
from ..search import lexical
from ..search.sparse_first import sparse_query

_TIES = [{"_score": "desc"}, {"id": "asc"}]


def question_query(
    index: Index, question: str, *, size: int = 50, where: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The first stage of sparse search: one linear clause for each n-gram and term, its weight the boost."""
    encoded = index.encoder.encode_questions([cleaned(question)])[0]
    lex = lexical.lex_weights(encoded, lexical.look_up(encoded, index.store))
    features = sparse_query(encoded, lex, index.settings.first_stage_lex_weight)
    should = [
        feature_clause(field, name, weight)
        for field, weights in features.items()
        for name, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    ]
    query: dict[str, Any] = {"bool": {"should": should, "minimum_should_match": 1}}
    if where:
        query["bool"]["filter"] = [metadata_clause(key, value) for key, value in where.items()]
    return {"size": size, "sort": _TIES, "query": query}


def listing_query(listing: Listing) -> dict[str, Any]:
    """The passages of a listing."""
    words = [
        {"multi_match": {"query": w, "fields": ["text", "title"], "type": "phrase_prefix"}} for w in _words(listing)
    ]
    documents = [{"term": {"document": listing.document_id}}] if listing.document_id else []
    filters = [*words, *documents, *_clauses(listing.where, listing.features)]
    without = _clauses(listing.without, listing.without_features)
    bools = {name: clauses for name, clauses in (("filter", filters), ("must_not", without)) if clauses}
    query = {"bool": bools} if bools else {"match_all": {}}
    return {"from": listing.offset, "size": listing.size, "query": query}


def feature_clause(field: str, name: str, weight: float = 1.0) -> dict[str, Any]:
    """One feature: its score is its value times the weight."""
    return {"rank_feature": {"field": f"{field}.{name}", "linear": {}, "boost": weight}}


def metadata_clause(key: str, value: str) -> dict[str, Any]:
    """One filter on metadata."""
    from ..stores.opensearch.bodies import tag  # as the engine writes it; of no use to who asks the local one

    return {"term": {"tags": tag(key, value)}}


def _words(listing: Listing) -> list[str]:
    return listing.text.split()


def _clauses(metadata: Iterable[tuple[str, str]], features: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [*(metadata_clause(*pair) for pair in metadata), *(feature_clause(*pair) for pair in features)]
