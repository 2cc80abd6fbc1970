"""Writing documents to a server so that a crash at any moment leaves nothing behind that cannot be put right.

    1 records of documents that are replaced or deleted are marked (and count as not there)
    2 passages are written under ids that never change, surplus ones deleted
    3 records are written
    4 refresh; statistics of the new generation; what was removed
    5 the state: this is the commit

Everything written carries the generation that is being made. What is above the committed one when a writer begins is
what a crash left: a document with its record is counted in, one without is removed (see recovery.py).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from ...engine import Writer
from ...errors import EngineError, IndexFailure, IndexNotFound, SparcSearchError
from ...stored import EncodedDocument, Refusal
from ..refusals import badly_encoded, taken_id
from .bodies import Counts, Record, passage_body, read_record, record_body, record_of
from .bulk import Action, ActionOutcome, BulkLimits, Throttle, load
from .checks import complaint
from .failures import Conflict, Passing
from .fencing import take_over, wait_for_writes
from .lease import Lease
from .names import key, writing
from .recovery import counted, recover
from .scan import by_ids, records
from .server import LOADING, Server
from .state import ServerState, drop_statistics, read_state, read_statistics, write_state, write_statistics
from .understood import understanding

_AT_ONCE: Final = 500
_PURGED_WITHIN: Final = 180.0
_NOTHING: Final = Counts()


@understanding
class ServerWriter(Writer):
    """The one writer of a version. Threads take turns."""

    def __init__(
        self, server: Server, documents_index: str, lease: Lease, *, readable: bool, limits: BulkLimits
    ) -> None:
        self._server, self._lease, self._readable, self._limits = server, lease, readable, limits
        self._throttle = Throttle(limits.size)
        self.state, self._stamp = read_state(server, documents_index, LOADING)
        take_over(server, self.state.version, lease.owner)
        if lease.follows_a_crash:
            wait_for_writes(server, self.state.version)
            self.state, self._stamp = read_state(server, documents_index, LOADING)
        self._terms = read_statistics(server, self.state, LOADING)
        self._unsettled = True  # for all that is known
        with self._changing():
            pass

    # --- adding ----------------------------------------------------------------------------------------------------

    def add(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        """Add or replace documents; what is refused is not in the index afterwards, in no version."""
        unique = {one.document.id: one for one in documents}
        refused = {id: found for id, one in unique.items() if (found := complaint(one))}
        refused.update(_taken_inside(unique))
        with self._changing():
            old = self._records(list(unique))
            wanted = [one for id, one in unique.items() if id not in refused]
            if wanted or old:
                self._add(wanted, refused, old)
        return list(refused.values())

    def _add(self, wanted: Sequence[EncodedDocument], refused: dict[str, Refusal], old: dict[str, Record]) -> None:
        generation = self.state.generation + 1
        self._mark(old.values(), generation)
        for outcome in self._load(self._passages(wanted, old, generation, refused)):
            if not outcome.ok and not self._is_ours(outcome, generation):
                refused.setdefault(outcome.action.owner, _refusal(outcome))
        new = [record_of(one, generation, old.get(one.document.id)) for one in wanted if one.document.id not in refused]
        for outcome in self._load(self._record_actions(new)):
            if not outcome.ok:
                refused[outcome.action.owner] = _refusal(outcome)
        ids = {one.document.id: [passage.passage.id for passage in one.passages] for one in wanted}
        self._take_back({id: ids.get(id, []) for id in refused}, old)
        gone = [record for id, record in old.items() if id in refused]
        self._commit(generation, [one for one in new if one.document.id not in refused], gone)

    def _passages(
        self, documents: Iterable[EncodedDocument], old: dict[str, Record], generation: int, refused: dict[str, Refusal]
    ) -> Iterator[Action]:
        index = self._alias(self.state.passages_index)
        for encoded in documents:
            id = encoded.document.id
            owned = set(old[id].passage_ids) if id in old else set()
            try:
                bodies = [
                    (one.passage.id, passage_body(one, generation, readable=self._readable)) for one in encoded.passages
                ]
            except ValueError as error:
                refused[id] = badly_encoded(id, error)
                continue
            for passage_id, body in bodies:
                # Made only if nobody has it: an id that belongs to another document must not be taken from it.
                yield Action("index" if passage_id in owned else "create", index, key(passage_id), body, id)
            for passage_id in sorted(owned - {passage_id for passage_id, _ in bodies}):
                yield Action("delete", index, key(passage_id), owner=id)

    def _is_ours(self, outcome: ActionOutcome, generation: int) -> bool:
        """Whether a passage "exists already" because an answer to our own request was lost."""
        if outcome.status != 409:
            return False
        path = f"/{self.state.passages_index}/_doc/{outcome.action.id}"
        found = self._server.document(path, {"_source": "document,generation"}, patience=LOADING)
        return bool(found) and found["_source"] == {"document": outcome.action.owner, "generation": generation}

    def _mark(self, records: Iterable[Record], generation: int) -> None:
        """From here on these documents count as not there: half of their passages may be replaced."""
        marked = [replace(one, marked=True, generation=generation, before=one.counts) for one in records]
        self._do(self._record_actions(marked))

    def _record_actions(self, records: Iterable[Record]) -> Iterator[Action]:
        index = self._alias(self.state.version.documents)
        for record in records:
            yield Action("index", index, key(record.document.id), record_body(record), record.document.id)

    def _take_back(self, refused: Mapping[str, Sequence[str]], old: Mapping[str, Record]) -> None:
        """Remove whatever of refused documents was written, and what they were to replace."""
        index = self._alias(self.state.passages_index)
        actions = []
        for id, written in refused.items():
            before = old[id].passage_ids if id in old else ()
            for passage_id in {*before, *written}:
                if self._belongs(passage_id, id):
                    actions.append(Action("delete", index, key(passage_id), owner=id))
        self._do(actions)

    def _belongs(self, passage_id: str, document_id: str) -> bool:
        path = f"/{self.state.passages_index}/_doc/{key(passage_id)}"
        found = self._server.document(path, {"_source": "document"}, patience=LOADING)
        return bool(found) and found["_source"]["document"] == document_id

    # --- deleting --------------------------------------------------------------------------------------------------

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        ids = list(dict.fromkeys(document_ids))
        with self._changing():
            return sum(self._delete(ids[begin : begin + _AT_ONCE]) for begin in range(0, len(ids), _AT_ONCE))

    def _delete(self, document_ids: Sequence[str]) -> int:
        old = self._records(document_ids)
        if not old:
            return 0
        generation = self.state.generation + 1
        self._mark(old.values(), generation)
        index = self._alias(self.state.passages_index)
        self._do(
            Action("delete", index, key(passage_id), owner=id)
            for id, record in old.items()
            for passage_id in record.passage_ids
        )
        self._commit(generation, [], list(old.values()))
        return len(old)

    # --- committing ------------------------------------------------------------------------------------------------

    def _commit(self, generation: int, new: Sequence[Record], gone: Sequence[Record]) -> None:
        """Settle the counts and make it count. Records of what is gone are removed last: they say what to subtract."""
        terms, state = self._terms.copy(), replace(self.state, generation=generation)
        for record in new:
            state = counted(state, terms, record.before, record.counts)
        for record in gone:
            state = counted(state, terms, record.counts, _NOTHING)
        removed = [id for record in new for id in record.gone]
        self._publish(state, terms, removed + [id for record in gone for id in record.passage_ids])
        index = self._alias(state.version.documents)
        self._do(Action("delete", index, key(record.document.id)) for record in gone)

    def _publish(self, state: ServerState, terms: Counter[str], removed: Sequence[str]) -> None:
        version = state.version
        if removed:
            self._do(_change_actions(self._alias(version.documents), state.generation, removed))
        write_statistics(self._server, state, terms, self._lease.owner)
        self._lease.check()
        self._refresh()
        try:
            self._stamp = write_state(self._server, self._alias(version.documents), state, self._stamp)
        except Conflict:
            now, stamp = read_state(self._server, version.documents, LOADING)
            if now != state:  # else the answer to our own request was lost
                raise
            self._stamp = stamp
        before, self.state, self._terms = self.state, state, +terms
        drop_statistics(self._server, state, before.generation - 1)  # readers may still ask for the one before

    def recount(self) -> None:
        """Count everything again from the records, and commit that."""
        with self._changing():
            state, terms = replace(self.state, documents=0, passages=0, words=0), Counter[str]()
            for record in records(self._server, state, size=200):
                if not record.marked:
                    state = counted(state, terms, _NOTHING, record.counts)
            self._publish(replace(state, generation=state.generation + 1), terms, [])

    def compact(self) -> None:
        """Let the server merge each index into one segment, until nothing of what was deleted is left in it.

        Servers keep what was deleted for copies that may ask for it, and look twice a minute whether one still may.
        """
        path, deadline = f"/{','.join(self.state.version.indices)}", time.monotonic() + _PURGED_WITHIN
        while True:
            self._server.request("POST", f"{path}/_flush", params={"force": "true"}, patience=LOADING)
            merged = {"max_num_segments": 1, "request_timeout": 3600}
            self._server.request("POST", f"{path}/_forcemerge", params=merged, patience=LOADING)
            self._refresh()
            found = self._server.request("GET", f"{path}/_stats/docs")["indices"].values()
            if not sum(int(index["primaries"]["docs"]["deleted"]) for index in found):
                return
            if time.monotonic() > deadline:
                raise EngineError(
                    f"{self._server.shown} still keeps what was deleted", "try again when all its nodes are there"
                )
            time.sleep(2)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _alias(self, index: str) -> str:
        return writing(index, self._lease.owner)

    def _records(self, document_ids: Sequence[str]) -> dict[str, Record]:
        docs = by_ids(self._server, self.state.version.documents, document_ids, patience=LOADING)
        there = [read_record(doc["_source"]) for doc in docs if doc.get("found")]
        return {record.document.id: record for record in there}

    def _load(self, actions: Iterable[Action]) -> Iterator[ActionOutcome]:
        return load(self._server, self._while_leased(actions), self._limits, self._throttle)

    def _while_leased(self, actions: Iterable[Action]) -> Iterator[Action]:
        for action in actions:
            self._lease.check()
            yield action

    def _do(self, actions: Iterable[Action]) -> None:
        """Do what cannot be refused for a reason of its own."""
        for outcome in self._load(actions):
            if not outcome.ok:
                raise IndexFailure(f"{self._server.shown} refused a change: {outcome.reason}", "see its log")

    def put_right(self) -> None:
        """Finish or undo what is not committed, of whoever began it."""
        with self._lease.turn:
            self._unsettled = True
            with self._changing():
                pass

    def _put_right(self) -> None:
        found = recover(self._server, self.state, self._terms)
        if found is None:
            return
        self._do(found.first(self.state.version, self._lease.owner))
        if found.state != self.state:
            self._publish(found.state, found.terms, found.removed)
        self._do(found.last(self.state.version, self._lease.owner))
        self._refresh()

    def _refresh(self) -> None:
        """Let searches see what was written."""
        self._server.request("POST", f"/{','.join(self.state.version.indices)}/_refresh", patience=LOADING)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change, in no pause. What a failed one leaves is put right at once, or else before the next."""
        with self._lease.turn:
            self._lease.pause()
            if self._unsettled:
                self._put_right()
            self._unsettled = True
            try:
                yield
            except IndexNotFound:
                self._lease.confirm()  # or is there another writer, who has closed the door to us?
                raise
            except (Passing, KeyboardInterrupt):
                raise  # the server is away, or the user wants to be: not now
            except BaseException:
                with suppress(SparcSearchError):  # then the next change or the next writer does it
                    self._put_right()
                    self._unsettled = False
                raise
            self._unsettled = False


def _change_actions(index: str, generation: int, removed: Sequence[str]) -> Iterator[Action]:
    for begin in range(0, len(removed), 5_000):
        body = {"removed": list(removed[begin : begin + 5_000])}
        id = f"change-{generation}-{begin}"
        text = json.dumps({"kind": "change", "id": id, "generation": generation, "body": body}, ensure_ascii=False)
        yield Action("index", index, id, text)


def _taken_inside(documents: Mapping[str, EncodedDocument]) -> dict[str, Refusal]:
    """Documents with a passage id that another document of the batch has too, or that they have twice."""
    owners: set[str] = set()
    found = {}
    for id, one in documents.items():
        for passage in one.passages:
            if passage.passage.id in owners:
                found[id] = taken_id(id, passage.passage.id)
            owners.add(passage.passage.id)
    return found


def _refusal(outcome: ActionOutcome) -> Refusal:
    if outcome.status == 409:
        return taken_id(outcome.action.owner, str(json.loads(outcome.action.body)["id"]))
    return Refusal(outcome.action.owner, f"the server does not take it: {outcome.reason}", "see docs/opensearch.md")
