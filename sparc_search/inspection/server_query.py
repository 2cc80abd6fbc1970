"""What is asked here, as a query for OpenSearch: the engine's own, to be pasted into the console of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..index import Index
from ..search import lexical
from ..search.sparse_first import sparse_query
from ..stored import Listing


def question_query(
    index: Index, question: str, *, size: int = 50, where: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The query that sparse-first search sends for a question."""
    from ..stores.opensearch import queries  # of no use to who asks the local engine only

    encoded = index.encoded(question)
    with index.engine.view() as view:
        lex = lexical.lex_weights(encoded, lexical.look_up(encoded, view))
    features = sparse_query(encoded, lex, index.settings.first_stage_lex_weight)
    return queries.sparse_search(features, size, where or {})


def listing_query(listing: Listing) -> dict[str, Any]:
    """The search that the engine itself sends for the passages of a listing: to be pasted, it finds the same."""
    from ..stores.opensearch import listing as listings

    return {**listings.page(listing), "size": listing.size, "_source": ["id", "title", "text"]}
