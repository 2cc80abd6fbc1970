"""What a crash (or a refused batch) left on the server, and how it is put right.

Everything above the committed generation is looked at, document by document.

- With a record of that generation all its passages were acknowledged before: it is counted in.
- With a marked record and all its old passages untouched, it is as it was: the mark is taken off.
- Anything else may be half of this and half of that: what there is of it is removed, and since it has no content hash
  any more, the next ingest of it does it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .bodies import Counts, Record, record_body
from .bulk import Action
from .names import Version, key, writing
from .queries import every
from .scan import pages, records
from .server import LOADING, Server
from .state import ServerState


@dataclass(slots=True)
class Recovered:
    """What is to be done, and the state when it is done."""

    state: ServerState
    terms: Counter[str]
    restored: list[Record] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Passages to delete."""
    dropped: list[str] = field(default_factory=list)
    """Documents whose record is to be deleted."""
    settled: bool = False
    """Whether a document counts for something else than before."""

    def first(self, version: Version, owner: str) -> Iterator[Action]:
        """What comes before the commit."""
        for id in self.removed:
            yield Action("delete", writing(version.passages, owner), key(id))
        for record in self.restored:
            yield Action("index", writing(version.documents, owner), key(record.document.id), record_body(record))

    def last(self, version: Version, owner: str) -> Iterator[Action]:
        """What comes after it: the records of what is gone say until then what to subtract."""
        for id in self.dropped:
            yield Action("delete", writing(version.documents, owner), key(id))

    def count(self, before: Counts, after: Counts) -> None:
        """Settle the counts of one document. A state with the same sums is another one: terms may have changed."""
        self.settled = True
        self.state = counted(self.state, self.terms, before, after)


def counted(state: ServerState, terms: Counter[str], before: Counts, after: Counts) -> ServerState:
    """The state, and the terms, when a document counts for something else than before."""
    terms.subtract(before.terms)
    terms.update(after.terms)
    return replace(
        state,
        documents=state.documents + after.documents - before.documents,
        passages=state.passages + after.passages - before.passages,
        words=state.words + after.words - before.words,
    )


def recover(server: Server, state: ServerState, terms: Counter[str]) -> Recovered | None:
    """What has to be put right; None if nothing has."""
    server.request("POST", f"/{','.join(state.version.indices)}/_refresh", patience=LOADING)
    unsettled = {record.document.id: record for record in _unsettled(server, state)}
    newer = set(_newer(server, state))
    if not unsettled and not newer:
        return None
    found = Recovered(state, terms.copy())
    for id in sorted(unsettled.keys() | newer):
        _settle(server, state, id, unsettled.get(id), found)
    if found.removed or found.settled:
        found.state = replace(found.state, generation=state.generation + 1)
    return found


def _settle(server: Server, state: ServerState, id: str, record: Record | None, found: Recovered) -> None:
    committed = state.generation
    if record is None:
        found.removed += [passage for passage, _ in _passages_of(server, state, id)]
    elif record.generation <= committed:  # its deletion is committed, only the record is left
        found.dropped.append(id)
    elif not record.marked:
        found.count(record.before, record.counts)
        found.removed += record.gone
    else:
        passages = dict(_passages_of(server, state, id))
        if passages.keys() == set(record.passage_ids) and max(passages.values(), default=0) <= committed:
            found.restored.append(replace(record, marked=False, generation=committed))
        else:
            found.count(record.before, Counts())
            found.removed += sorted(passages.keys() | set(record.passage_ids))
            found.dropped.append(id)


def _unsettled(server: Server, state: ServerState) -> Iterator[Record]:
    """Records above the committed generation, and marked ones."""
    newer = {"range": {"generation": {"gt": state.generation}}}
    either = {"bool": {"should": [newer, {"term": {"content_hash": ""}}], "minimum_should_match": 1}}
    return records(server, state, either, size=200)


def _newer(server: Server, state: ServerState) -> Iterator[str]:
    """Documents with passages above the committed generation."""
    query = every({"range": {"generation": {"gt": state.generation}}})
    for page in pages(server, state.passages_index, query, source=["document"]):
        yield from (hit["_source"]["document"] for hit in page)


def _passages_of(server: Server, state: ServerState, document_id: str) -> Iterator[tuple[str, int]]:
    """The id and generation of each passage of a document."""
    query = every({"term": {"document": {"value": document_id}}})
    for page in pages(server, state.passages_index, query, sort=("id", "generation")):
        yield from ((hit["sort"][0], int(hit["sort"][1])) for hit in page)
