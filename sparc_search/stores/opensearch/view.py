"""One committed state of an index on a server, to read and search.

The state is read when the view begins, and with it which version is served and which statistics count. What a writer
commits meanwhile may show in a search of the same view; a passage never shows twice.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...block_batch import Blocks
from ...errors import EngineError
from ...interfaces import EncodedDocument, Hit, Statistics, StoredPassage, VectorChange
from ...records import EncodedPassage, Features, Passage
from ..stored_blocks import blocks_of
from . import search
from .bodies import FIELDS, Record, read_block, read_facts, read_features, read_passage, read_record, read_vector
from .names import key
from .scan import every, missing, pages
from .server import Server
from .state import State

_AT_ONCE: Final = 500
"""Documents asked for in one request."""

_MOST: Final = 10_000
"""Hits that servers give at once. Among more that tie, they decide."""

_VECTORS: Final = 2_000
_EXPORTED: Final = 50


class View:
    """Reads and searches one state."""

    def __init__(
        self,
        server: Server,
        state: State,
        frequencies: Callable[[State], Counter[str]],
        filters: dict[Any, list[str]],
    ) -> None:
        self._server = server
        self.state = state
        self.identity = state.identity
        self._frequencies = frequencies
        self._filters = filters
        self._own = threading.local()
        self._known: dict[str, Mapping[str, Any]] = {}
        """Stored fields of passages that were fetched, by id."""

    # --- searching -------------------------------------------------------------------------------------------------

    def sparse_search(self, query: Features, k: int, where: Mapping[str, str]) -> list[Hit]:
        """The k passages with the highest dot product, ties by passage id; only positive scores."""
        return self.sparse_search_many([query], k, where)[0]

    def sparse_search_many(self, queries: Sequence[Features], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """The same for several queries, in one request."""
        found: list[list[Hit]] = [[] for _ in queries]
        asked = [(number, query) for number, query in enumerate(queries) if search.clauses(query)]
        size = min(k + search.MARGIN, _MOST)
        while asked and k > 0:
            again = []
            for (number, query), hits in zip(asked, self._search([q for _, q in asked], size, where), strict=True):
                if len(hits) == size < _MOST and _all_close(hits[k - 1 :]):
                    again.append((number, query))  # whoever comes next may be as good
                else:
                    found[number] = self._in_order(query, hits, k)
            asked, size = again, min(size * 4, _MOST)
        return found

    def _search(self, queries: Sequence[Features], size: int, where: Mapping[str, str]) -> list[list[Hit]]:
        count_hits, index = self._server.dialect.count_hits, self.state.passages_index
        bodies = [search.body(query, size, where, count_hits=count_hits) for query in queries]
        if len(bodies) == 1:
            answers = [self._server.request("POST", f"/{index}/_search", bodies[0])]
        else:
            lines = "".join(f'{{"index":"{index}"}}\n{json.dumps(body)}\n' for body in bodies)
            answers = self._server.request("POST", "/_msearch", lines)["responses"]
        return [self._hits(answer) for answer in answers]

    def _hits(self, answer: Mapping[str, Any]) -> list[Hit]:
        if "error" in answer:  # of one search among several
            raise EngineError(f"{self._server.shown} could not search: {answer['error']}", "see the log of the server")
        if what := missing(answer):
            self._problems.append(what)
        return search.read_hits(answer)

    def _in_order(self, query: Features, hits: list[Hit], k: int) -> list[Hit]:
        """The first k in their exact order."""
        unsure = search.unsure(hits, k)
        if unsure:
            exact = {id: search.exact_score(query, found) for id, found in self.features(unsure).items()}
            hits = [Hit(hit.passage_id, exact.get(hit.passage_id, hit.score)) for hit in hits]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage_id))[:k]

    @property
    def _problems(self) -> list[str]:
        if not hasattr(self._own, "problems"):
            self._own.problems = []
        problems: list[str] = self._own.problems
        return problems

    def degraded(self) -> tuple[str, ...]:
        """What was missing from the results since it was asked last, by this thread."""
        found = tuple(dict.fromkeys(self._problems))
        self._problems.clear()
        return found

    # --- reading ---------------------------------------------------------------------------------------------------

    def fetch(self, passage_ids: Sequence[str]) -> list[StoredPassage]:
        """Passages by id, in that order; those that have vanished are left out."""
        found = self._get_many(passage_ids, stored=("block", "facts"))
        return [read_passage(one["fields"]) for one in found.values()]

    def fetch_batch(self, passage_ids: Sequence[str]) -> tuple[list[str], Blocks | None]:
        """The ids of those that are there, in that order, and their phrase blocks."""
        found = self._get_many(passage_ids, stored=("block", "facts"))
        # Passages of answers are asked for next. They are small, and another request would take longer.
        self._known.update(
            (id, {"facts": one["fields"]["facts"]}) for id, one in found.items() if "facts" in one["fields"]
        )
        blocks = [read_block(one["fields"]) for one in found.values()]
        return list(found), blocks_of(blocks) if blocks else None

    def fetch_passages(self, passage_ids: Sequence[str]) -> list[Passage]:
        """Passages without their blocks, in that order; those that have vanished are left out."""
        missing = [id for id in passage_ids if id not in self._known]
        self._known.update((id, one["fields"]) for id, one in self._get_many(missing, stored=("facts",)).items())
        return [read_facts(self._known[id]) for id in passage_ids if id in self._known]

    def features(self, passage_ids: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
        """The features of passages, by id."""
        found = self._get_many(passage_ids, stored=("features",), source=FIELDS)
        return {id: read_features(one.get("fields", {}), one.get("_source", {})) for id, one in found.items()}

    def _get_many(
        self, passage_ids: Sequence[str], *, stored: Sequence[str], source: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Passages by id as the server has them. Not "realtime": what a writer has not committed is not looked at."""
        index, found = self.state.passages_index, {}
        params = {"stored_fields": ",".join(stored), "realtime": "false"}
        params["_source"] = ",".join(source) if source else "false"
        for begin in range(0, len(passage_ids), _AT_ONCE):
            some = passage_ids[begin : begin + _AT_ONCE]
            body = {"ids": [key(id) for id in some]}
            docs = self._server.request("POST", f"/{index}/_mget", body, params)["docs"]
            found.update({id: doc for id, doc in zip(some, docs, strict=True) if _is_there(doc, self._server.shown)})
        return found

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Number of passages and, of these terms, in how many each stands."""
        counts = self.frequencies() if lex_names else Counter()
        there = {name: counts[name] for name in lex_names if name in counts}
        return Statistics(self.state.generation, self.state.passages, there)

    def frequencies(self) -> Counter[str]:
        """In how many passages each term stands. Not to be changed."""
        return self._frequencies(self.state)

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        found: dict[str, str] = {}
        params = {"stored_fields": "content_hash", "_source": "false"}
        for begin in range(0, len(document_ids), _AT_ONCE):
            some = document_ids[begin : begin + _AT_ONCE]
            path = f"/{self.state.version.documents}/_mget"
            docs = self._server.request("POST", path, {"ids": [key(id) for id in some]}, params)["docs"]
            for id, doc in zip(some, docs, strict=True):
                if _is_there(doc, self._server.shown) and (hashed := doc["fields"]["content_hash"][0]):
                    found[id] = hashed
        return found

    # --- everything ------------------------------------------------------------------------------------------------

    def matching(self, where: Mapping[str, str]) -> list[str]:
        """The passages a filter lets through."""
        wanted = (self.state.identity, self.state.generation, tuple(sorted(where.items())))
        if wanted not in self._filters:
            query = every(*search.conditions(where))
            hits = pages(self._server, self.state.passages_index, query, size=10_000)
            ids = [hit["sort"][0] for page in hits for hit in page]
            if len(self._filters) >= 64:
                self._filters.clear()
            self._filters[wanted] = ids
        return self._filters[wanted]

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix."""
        conditions: list[dict[str, Any]] = [{"term": {"kind": "document"}}]
        if source_prefix:
            conditions.append({"prefix": {"source": {"value": source_prefix}}})
        index = self.state.version.documents
        for page in pages(self._server, index, every(*conditions), source=["id", "source", "content_hash"]):
            for hit in page:
                if hit["_source"]["content_hash"]:
                    yield hit["_source"]["id"], hit["_source"]["source"]

    def documents(self) -> Iterator[EncodedDocument]:
        """Every document, by id."""
        query, index = every({"term": {"kind": "document"}}), self.state.version.documents
        for page in pages(self._server, index, query, size=_EXPORTED, source=True):
            for hit in page:
                record = read_record(hit["_source"])
                if not record.marked:
                    passages = tuple(self._encoded(record.passage_ids))
                    yield EncodedDocument(record.document, record.content_hash, passages)

    def records(self, document_ids: Sequence[str]) -> list[Record]:
        """What is known of some documents, in that order; those that are not there are left out."""
        if not document_ids:
            return []
        path = f"/{self.state.version.documents}/_mget"
        docs = self._server.request("POST", path, {"ids": [key(id) for id in document_ids]})["docs"]
        records = [read_record(doc["_source"]) for doc in docs if _is_there(doc, self._server.shown)]
        return [record for record in records if not record.marked]

    def encoded_documents(self, document_ids: Sequence[str]) -> list[EncodedDocument]:
        """Some documents with all their passages; those that are not there are left out."""
        return [
            EncodedDocument(record.document, record.content_hash, tuple(self._encoded(record.passage_ids)))
            for record in self.records(document_ids)
        ]

    def _encoded(self, passage_ids: Sequence[str]) -> Iterator[EncodedPassage]:
        found = self._get_many(passage_ids, stored=("block", "facts", "features"), source=FIELDS)
        for one in found.values():
            stored = read_passage(one["fields"], check=True)
            yield EncodedPassage(stored.passage, stored.block, read_features(one["fields"], one.get("_source", {})))

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """The vectors of passages that came after a generation, and the ids of those that went."""
        removed = tuple(self._removed(since))
        if removed:
            yield VectorChange(since, (), np.zeros((0, 0), np.float32), removed=removed)
        query = every({"range": {"generation": {"gt": since, "lte": self.state.generation}}})
        reached = since
        for page in pages(
            self._server,
            self.state.passages_index,
            query,
            sort=("generation", "id"),
            size=_VECTORS,
            stored=("vector",),
        ):
            # Of the last generation in a page more may follow in the next, so it is not said to be done.
            reached = max(reached, int(page[-1]["sort"][0]) - 1)
            yield _change(reached, page)
        if reached < self.state.generation:
            yield VectorChange(self.state.generation, (), np.zeros((0, 0), np.float32))

    def _removed(self, since: int) -> Iterator[str]:
        kind = {"term": {"kind": "change"}}
        query = every(kind, {"range": {"generation": {"gt": since}}})
        for page in pages(
            self._server, self.state.version.documents, query, sort=("generation", "id"), source=["body"]
        ):
            for hit in page:
                yield from hit["_source"]["body"]["removed"]


def _change(generation: int, page: Sequence[Mapping[str, Any]]) -> VectorChange:
    stored = [read_vector(hit["fields"]) for hit in page]
    scales: NDArray[np.float32] = np.array([scale for _, scale in stored], np.float32)
    vectors = np.stack([vector for vector, _ in stored]).astype(np.float32) * scales[:, None]
    return VectorChange(generation, tuple(hit["sort"][1] for hit in page), vectors, scales)


def _all_close(hits: Sequence[Hit]) -> bool:
    return all(search.close(higher, lower) for higher, lower in pairwise(hits))


def _is_there(doc: Mapping[str, Any], where: str) -> bool:
    """Whether one of several documents was found; a shard that cannot say is an error, not an absence."""
    if "error" in doc:
        raise EngineError(f"{where} could not read a document: {doc['error']}", "see its health, and try again")
    return bool(doc.get("found"))
