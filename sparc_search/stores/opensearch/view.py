"""One committed state of an index on a server, to read and search.

The state is read when the view begins, and with it which version is served and which statistics count. What a writer
commits meanwhile may show in a search of the same view; a passage never shows twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...engine import View, Where
from ...records import FIELDS, Document, EncodedPassage, Features
from ...stored import (
    EncodedDocument,
    Fetched,
    FetchedBlocks,
    FetchedPassages,
    Hit,
    Hits,
    Matching,
    Missing,
    Statistics,
    VectorChange,
)
from ..stored_blocks import blocks_of
from . import catalogue, listing, search
from .answers import complete, missing, unread, whole
from .bodies import Record, read_block, read_facts, read_features, read_passage, read_record, read_vector
from .queries import clauses, conditions, every
from .scan import by_ids, pages, records
from .server import Server
from .state import ServerState
from .understood import understanding

_MOST: Final = 10_000
"""Hits that servers give at once. Among more that tie, they decide."""

_VECTORS: Final = 2_000
_EXPORTED: Final = 50


@understanding
class ServerView(View):
    """Reads and searches one state."""

    def __init__(
        self,
        server: Server,
        state: ServerState,
        frequencies: Callable[[ServerState], Counter[str]],
        filters: dict[Any, list[str]],
    ) -> None:
        self.server = server
        self.state = state
        self.identity = state.identity
        self.frequencies_of = frequencies
        self._filters = filters
        self._known: dict[str, Mapping[str, Any]] = {}
        """Stored fields of passages that were fetched, by id."""

    # --- searching -------------------------------------------------------------------------------------------------

    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[Hits]:
        """For each query the k passages with the highest dot product; all in one request."""
        found = [Hits() for _ in queries]
        asked = [number for number, query in enumerate(queries) if clauses(query)]
        size = min(k + search.MARGIN, _MOST)
        while asked and k > 0:
            again = []
            for number, own in zip(asked, self._search([queries[n] for n in asked], size, where), strict=True):
                if len(own.hits) == size < _MOST and _all_close(own.hits[k - 1 :]):
                    again.append(number)  # whoever comes next may be as good
                else:
                    found[number] = self._in_order(queries[number], own, k)
            asked, size = again, min(size * 4, _MOST)
        return found

    def _search(self, queries: Sequence[Features], size: int, where: Where) -> list[Hits]:
        count_hits, index = self.server.dialect.count_hits, self.state.passages_index
        bodies = [search.body(query, size, where, count_hits=count_hits) for query in queries]
        if len(bodies) == 1:
            answers = [self.server.request("POST", f"/{index}/_search", bodies[0])]
        else:
            answers = self.search_many(bodies)
        return [Hits(search.read_hits(answer), missing(answer, self.server.shown)) for answer in answers]

    def _in_order(self, query: Features, found: Hits, k: int) -> Hits:
        """The first k in their exact order."""
        hits, lacks = found.hits, found.missing
        unsure = search.unsure(hits, k)
        if unsure:
            features, unread = self._features(unsure)
            exact = {id: search.exact_score(query, own) for id, own in features.items()}
            hits, lacks = [Hit(hit.passage_id, exact.get(hit.passage_id, hit.score)) for hit in hits], lacks + unread
        return Hits(sorted(hits, key=lambda hit: (-hit.score, hit.passage_id))[:k], lacks)

    def search(self, body: Mapping[str, Any]) -> Any:
        """The answer to any search for passages, if it is whole."""
        return whole(self.server.request("POST", f"/{self.state.passages_index}/_search", body), self.server.shown)

    def search_many(self, bodies: Sequence[Mapping[str, Any]]) -> Any:
        """The answers to several searches for passages, whole or not."""
        index = self.state.passages_index
        lines = "".join(f'{{"index":"{index}"}}\n{json.dumps(body)}\n' for body in bodies)
        return self.server.request("POST", "/_msearch", lines)["responses"]

    # --- reading ---------------------------------------------------------------------------------------------------

    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        """Passages by id, in that order; those that are not there are left out."""
        found, lacks = self._get_many(passage_ids, stored=("block", "facts"))
        return Fetched([read_passage(one["fields"]) for one in found.values()], lacks)

    def fetch_blocks(self, passage_ids: Sequence[str]) -> FetchedBlocks:
        """The phrase blocks of those passages that are there, in that order."""
        found, lacks = self._get_many(passage_ids, stored=("block", "facts"))
        # Passages of answers are asked for next. They are small, and another request would take longer.
        self._known.update(
            (id, {"facts": one["fields"]["facts"]}) for id, one in found.items() if "facts" in one["fields"]
        )
        blocks = [read_block(one["fields"]) for one in found.values()]
        return FetchedBlocks(list(found), blocks_of(blocks) if blocks else None, lacks)

    def fetch_passages(self, passage_ids: Sequence[str]) -> FetchedPassages:
        """Passages without their blocks, in that order; those that are not there are left out."""
        found, lacks = self._get_many([id for id in passage_ids if id not in self._known], stored=("facts",))
        self._known.update((id, one["fields"]) for id, one in found.items())
        return FetchedPassages([read_facts(self._known[id]) for id in passage_ids if id in self._known], lacks)

    def features(self, passage_ids: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
        """The features of passages, by id."""
        found, lacks = self._features(passage_ids)
        complete(found, lacks, self.server.shown)
        return found

    def _features(self, passage_ids: Sequence[str]) -> tuple[dict[str, dict[str, dict[str, float]]], Missing]:
        found, lacks = self._get_many(passage_ids, stored=("features",), source=FIELDS)
        return {id: read_features(one.get("fields", {}), one.get("_source", {})) for id, one in found.items()}, lacks

    def _get_many(
        self, passage_ids: Sequence[str], *, stored: Sequence[str], source: Sequence[str] = ()
    ) -> tuple[dict[str, Any], Missing]:
        """Passages by id as the server has them. Not "realtime": what a writer has not committed is not looked at."""
        params = {"stored_fields": ",".join(stored), "realtime": "false"}
        params["_source"] = ",".join(source) if source else "false"
        docs = list(by_ids(self.server, self.state.passages_index, passage_ids, params))
        found = {id: doc for id, doc in zip(passage_ids, docs, strict=True) if doc.get("found")}
        return found, unread(docs, len(docs))

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Number of passages and, of these terms, in how many each stands."""
        counts = self.frequencies() if lex_names else Counter()
        there = {name: counts[name] for name in lex_names if name in counts}
        return Statistics(self.state.generation, self.state.passages, there)

    def frequencies(self) -> Counter[str]:
        """In how many passages each term stands. Not to be changed."""
        return self.frequencies_of(self.state)

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each of these documents that is there."""
        docs = self._documents(document_ids, {"stored_fields": "content_hash", "_source": "false"})
        hashes = {id: doc["fields"]["content_hash"][0] for id, doc in docs.items()}
        return {id: hashed for id, hashed in hashes.items() if hashed}

    def _documents(self, ids: Sequence[str], params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The documents that are there. One that cannot be read is an error, not an absence."""
        docs = list(by_ids(self.server, self.state.version.documents, ids, params))
        complete(docs, unread(docs, len(docs)), self.server.shown)
        return {id: doc for id, doc in zip(ids, docs, strict=True) if doc.get("found")}

    # --- everything ------------------------------------------------------------------------------------------------

    def matching(self, where: Where) -> Matching:
        """The ids of the passages that have these metadata."""
        wanted = (self.state.identity, self.state.generation, tuple(sorted(where.items())))
        if wanted in self._filters:
            return Matching(self._filters[wanted])
        lacks: list[str] = []
        query, index = every(*conditions(where)), self.state.passages_index
        hits = pages(self.server, index, query, size=10_000, lacks=lacks)
        ids = [hit["sort"][0] for page in hits for hit in page]
        if not lacks:
            if len(self._filters) >= 64:
                self._filters.clear()
            self._filters[wanted] = ids
        return Matching(ids, tuple(dict.fromkeys(lacks)))

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix."""
        wanted: list[dict[str, Any]] = [{"term": {"kind": "document"}}]
        if source_prefix:
            wanted.append({"prefix": {"source": {"value": source_prefix}}})
        index = self.state.version.documents
        for page in pages(self.server, index, every(*wanted), source=["id", "source", "content_hash"]):
            for hit in page:
                if hit["_source"]["content_hash"]:
                    yield hit["_source"]["id"], hit["_source"]["source"]

    def documents(self, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
        """Every document, or those of these ids."""
        for record in self.records(ids):
            yield EncodedDocument(record.document, record.content_hash, tuple(self._encoded(record.passage_ids)))

    def texts(self, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """Every document, or those of these ids, without its passages."""
        return (record.document for record in self.records(ids))

    def records(self, ids: Sequence[str] | None = None) -> Iterator[Record]:
        """What is known of all documents, or of those of these ids, in that order, that are there."""
        if ids is None:
            found = records(self.server, self.state, size=_EXPORTED)
        else:
            found = (read_record(doc["_source"]) for doc in self._documents(ids).values())
        return (record for record in found if not record.marked)

    def _encoded(self, passage_ids: Sequence[str]) -> Iterator[EncodedPassage]:
        found, lacks = self._get_many(passage_ids, stored=("block", "facts", "features"), source=FIELDS)
        for one in complete(found, lacks, self.server.shown).values():
            stored = read_passage(one["fields"], check=True)
            yield EncodedPassage(stored.passage, stored.block, read_features(one["fields"], one.get("_source", {})))

    # --- to be looked at -------------------------------------------------------------------------------------------

    feature_statistics = catalogue.feature_statistics
    feature_figures = catalogue.feature_figures
    frequent_features = catalogue.frequent_features
    features_like = catalogue.features_like
    list_passages = listing.list_passages
    list_documents = listing.list_documents
    metadata_values = listing.metadata_values
    facets = listing.facets
    count_features = listing.count_features

    # --- vectors ---------------------------------------------------------------------------------------------------

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """The vectors of passages that came after a generation, and the ids of those that went."""
        removed = tuple(self._removed(since))
        if removed:
            yield VectorChange(since, (), np.zeros((0, 0), np.float32), removed=removed)
        query = every({"range": {"generation": {"gt": since, "lte": self.state.generation}}})
        reached = since
        index, order = self.state.passages_index, ("generation", "id")
        for page in pages(self.server, index, query, sort=order, size=_VECTORS, stored=("vector",)):
            # Of the last generation in a page more may follow in the next, so it is not said to be done.
            reached = max(reached, int(page[-1]["sort"][0]) - 1)
            yield _change(reached, page)
        if reached < self.state.generation:
            yield VectorChange(self.state.generation, (), np.zeros((0, 0), np.float32))

    def _removed(self, since: int) -> Iterator[str]:
        kind = {"term": {"kind": "change"}}
        query = every(kind, {"range": {"generation": {"gt": since}}})
        for page in pages(self.server, self.state.version.documents, query, sort=("generation", "id"), source=["body"]):
            for hit in page:
                yield from hit["_source"]["body"]["removed"]


def _change(generation: int, page: Sequence[Mapping[str, Any]]) -> VectorChange:
    stored = [read_vector(hit["fields"]) for hit in page]
    scales: NDArray[np.float32] = np.array([scale for _, scale in stored], np.float32)
    vectors = np.stack([vector for vector, _ in stored]).astype(np.float32) * scales[:, None]
    return VectorChange(generation, tuple(hit["sort"][1] for hit in page), vectors, scales)


def _all_close(hits: Sequence[Hit]) -> bool:
    return all(search.close(higher, lower) for higher, lower in pairwise(hits))
