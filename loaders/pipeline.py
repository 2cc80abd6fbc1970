"""read -> check -> cut -> encode -> store, all at the same time, with bounded memory.

    reader threads   open files and make documents; wait when enough is under way
    caller's thread  asks the index what is unchanged, writes what is encoded, hands out events
    cutter thread    cuts documents into passages
    encoder thread   encodes; never waits as long as there is work

Only the caller's thread talks to the engine. Documents that are handed over need no reader threads: the caller's thread
takes them too, so that whatever makes them (a cursor of a database, say) stays in the thread it knows.

Queues need no bounds of their own: a budget of characters is taken when a document is read and given back when it is
finished with, so nothing can pile up and nothing can lock up.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine
from sparc_search.errors import UsageError
from sparc_search.records import Document
from sparc_search.stored import Refusal

from .accounts import Accounts
from .budget import Budget
from .checks import complaint
from .encoding import Done, Encoding, Job
from .formats import Formats
from .furniture import furniture_of
from .learning import learned_furniture
from .outcomes import Event, Kind, Outcome, Stopped
from .passages import content_hash
from .plan import Plan
from .reading import Read, Reading
from .seen import Seen, moved_away, vanished
from .stages import (
    Arrivals,
    Arrived,
    Cuts,
    CutterThread,
    Encoded,
    EncodedAll,
    EncoderThread,
    Failed,
    Inbox,
    Jobs,
    Message,
    ReadAll,
    ReaderThread,
    Shared,
    cost,
)
from .target import Target
from .walk import Found, Passed, Root, walk
from .watching import within

Item = TypeVar("Item")

UNDER_WAY: Final = 4_000_000
"""Characters that may be under way at once; one document that is longer goes alone."""

_COMMIT_PASSAGES: Final = 512
_COMMIT_SECONDS: Final = 10.0
_LOOK_UP_AT_ONCE: Final = 256
_DELETE_AT_ONCE: Final = 500
_TICK: Final = 0.5


def ingest(
    plan: Plan, encoder: Encoder | None, engine: Engine | None, stop: threading.Event | None = None
) -> Generator[Event, None, None]:
    """Run the plan: outcomes and progress while it runs, the summary last.

    Setting `stop` finishes what is in flight and ends with a summary that says so. Without an engine (in a dry
    run only) every document is new. Without an encoder all documents must be encoded already.
    """
    if engine is None and not plan.dry_run:
        raise UsageError("nowhere to write", "open an engine, or make it a dry run")
    target = Target(engine)
    if plan.sync:
        target.require_sources()
    run = _Run(plan, encoder, target, stop or threading.Event())
    try:
        yield from run.events()
    finally:
        run.close()


class _Run:
    """One ingest."""

    def __init__(self, plan: Plan, encoder: Encoder | None, target: Target, stop: threading.Event) -> None:
        self._plan, self._target, self._stop = plan, target, stop
        self._window = encoder.window if encoder else 0
        self._ending = threading.Event()  # no more reading and encoding
        self._encoding = Encoding(encoder, plan.batch_tokens, self._ending.is_set, plan.dry_run)
        self._inbox: Inbox = queue.SimpleQueue()
        self._jobs: Jobs = queue.SimpleQueue()
        self._budget = Budget(UNDER_WAY)
        self._arrivals = Arrivals(self._inbox)
        self._documents = None if plan.documents is None else iter(plan.documents)
        self._next_document: Read | Passed | None = None  # one that there was no room for yet
        self._readers = [] if self._documents is not None else list(self._make_readers())
        self._still_reading = len(self._readers) or 1
        cuts: Cuts = queue.SimpleQueue()
        self._cutter = CutterThread(self._encoding, self._jobs, cuts, self._inbox, self._ending)
        self._encoder = EncoderThread(self._encoding, cuts, self._inbox, self._ending)
        self._threads = (*self._readers, self._cutter, self._encoder)
        self._seen = Seen()
        self._accounts = Accounts(str(encoder.card.get("language", "")) if encoder else "")
        self._new_characters = 0  # of all documents that must be encoded
        self._unwritten: list[Done] = []
        self._replaced: set[str] = set()  # ids under way that the index has with other content
        self._last_commit = time.monotonic()
        self._size_before = target.size()

    def _make_readers(self) -> Iterator[ReaderThread]:
        plan = self._plan
        formats = Formats(plan.format)
        furniture = learned_furniture(plan, formats)
        found = Shared(iter(plan.only) if plan.only is not None else self._walk())
        for _ in range(max(1, plan.readers)):
            reading = Reading(formats, plan.options, plan.corpus, plan.limits, furniture, plan.part)
            yield ReaderThread(reading, found, self._arrivals, self._inbox, self._budget, self._ending)

    def _walk(self) -> Iterator[Found | Passed]:
        touched = self._plan.touched
        entries = walk(self._plan.roots, self._plan.filters)
        return (entry for entry in entries if touched is None or within(entry.source, touched))

    def events(self) -> Iterator[Event]:
        """Everything that happens."""
        for thread in self._threads:
            thread.start()
        message: Message | None = None
        while not isinstance(message, EncodedAll):
            message = self._next_message()
            match message:
                case Arrived() if not self._ending.is_set():  # what comes later has not been read, as it were
                    for items in batched(self._arrivals.take(), _LOOK_UP_AT_ONCE):
                        yield from self._arrived(items)
                case ReadAll():
                    self._still_reading -= 1
                    if not self._still_reading:
                        self._jobs.put(None)
                case Encoded(done):
                    self._encoded(done)
                case Failed(error):
                    yield from self._commit()
                    raise error
                case _:
                    pass
            if self._is_commit_due():
                yield self._progress("writing")
                yield from self._commit()
            yield self._progress()
            if self._stopped():
                self._end()
        yield self._progress("writing")
        yield from self._commit()
        if self._plan.roots and not self._stopped() and (self._plan.sync or self._target.knows_sources()):
            yield self._progress("deleting" if self._plan.sync else "")
            yield from self._delete_vanished()
        yield self._summary()

    def _progress(self, stage: str = "") -> Event:
        work = self._encoding.work(self._new_characters)
        working = "cutting" if self._plan.dry_run else "encoding"
        doing = "stopping" if self._stop.is_set() else working if work else "reading"
        return self._accounts.progress(
            tokens=self._encoding.encoded_tokens,
            bytes_read=sum(reader.reading.bytes_read for reader in self._readers),
            work=work,
            reading=self._still_reading > 0,
            stage=stage or doing,
        )

    def close(self) -> None:
        """Stop the threads and let go of everything; a reader may hang in standard input, so nobody waits for long."""
        self._end()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=5.0)
        self._seen.close()

    def _end(self) -> None:
        if not self._ending.is_set():
            self._ending.set()
            self._jobs.put(None)
            self._budget.close()
            for reader in self._readers:
                reader.reading.interrupt()

    def _next_message(self) -> Message | None:
        there_is_more = not self._ending.is_set() and self._take()
        try:
            return self._inbox.get(block=not there_is_more, timeout=_TICK)
        except queue.Empty:
            return None

    def _take(self) -> bool:
        """Take some of the documents that were handed over; whether more can be taken at once."""
        try:
            while self._documents is not None and len(self._arrivals) < _LOOK_UP_AT_ONCE:
                item = self._next_document or next(self._documents, None)
                if item is None:
                    self._documents = None
                    self._inbox.put(ReadAll())
                elif self._budget.try_take(cost(item)):
                    self._next_document = None
                    self._arrivals.put(item)
                else:
                    self._next_document = item
                    return False
        except Exception as error:  # of whatever makes the documents: what is encoded by now is still written
            self._documents = None
            self._inbox.put(Failed(error))
        return self._documents is not None

    # --- what was read ---------------------------------------------------------------------------------------------

    def _arrived(self, items: Sequence[Read | Passed]) -> Iterator[Event]:
        self._accounts.read += len(items)
        candidates: list[Job] = []
        for item in items:
            outcome = self._passed(item) if isinstance(item, Passed) else self._checked(item, candidates)
            if outcome:
                self._budget.give_back(cost(item))
                yield self._accounts.ended(outcome)
        with self._accounts.timing("look up"):
            known = self._target.content_hashes([job.document.id for job in candidates])
        for job in candidates:
            if known.get(job.document.id) == job.content_hash:
                self._budget.give_back(cost(job))
                yield self._ended("unchanged", job.document, job.root)
            else:
                self._new_characters += len(job.document.text)
                if job.document.id in known:
                    self._replaced.add(job.document.id)
                self._jobs.put(job)

    def _passed(self, item: Passed) -> Outcome:
        self._seen.doubt(item.source)
        return Outcome(item.kind, "", item.source, item.reason, item.remedy, item.root.path, item.root.kind)

    def _checked(self, item: Read, candidates: list[Job]) -> Outcome | None:
        """Why the document goes no further; nothing if it is a candidate."""
        document, root = item.document, item.root
        found = complaint(document)
        if found and not (found[0] == "skipped" and _moves(root)):
            kind, reason, remedy = found
            if kind == "rejected":
                self._seen.doubt(document.source)
            return _outcome(kind, document, root, reason, remedy)
        with self._accounts.timing("look up"):
            hashed = item.encoded.content_hash if item.encoded else content_hash(document, self._window)
            earlier = self._seen.meet(document.id, hashed)
        if earlier is None:
            candidates.append(Job(document, hashed, root, item.encoded, item.left_out))
            return None
        if earlier == hashed:
            return _outcome("skipped", document, root, "the same document a second time")
        remedy = "make ids unique, name another --id-field, or give each source its own --corpus"
        return _outcome("rejected", document, root, f"another document of this run has the id {document.id!r}", remedy)

    # --- what was encoded ------------------------------------------------------------------------------------------

    def _encoded(self, done: Sequence[Done]) -> None:
        self._encoder.received()
        self._unwritten += done
        for document in done:
            self._budget.give_back(cost(document.cut.job))
            if not document.problem:
                self._accounts.encoded(document.cut)

    def _is_commit_due(self) -> bool:
        if not self._unwritten:
            return False
        passages = sum(len(done.cut.passages) for done in self._unwritten)
        return passages >= _COMMIT_PASSAGES or time.monotonic() - self._last_commit >= _COMMIT_SECONDS

    def _commit(self) -> Iterator[Event]:
        """Write what is encoded; only then is it said to be indexed."""
        finished, self._unwritten = self._unwritten, []
        encoded = [
            done.encoded for done in finished if done.encoded and (done.encoded.passages or _moves(done.cut.job.root))
        ]
        with self._accounts.timing("write"):
            self._forget([done.document.id for done in encoded if done.document.id in self._replaced])
            refused = self._target.add(encoded)
        self._last_commit = time.monotonic()
        for done in finished:
            yield self._finished(done, refused.get(done.cut.job.document.id))

    def _finished(self, done: Done, refusal: Refusal | None = None) -> Outcome:
        document, root = done.cut.job.document, done.cut.job.root
        if refusal:
            self._seen.doubt(document.source)
            return self._ended("rejected", document, root, refusal.reason, refusal.remedy)
        if done.problem:
            return self._ended("rejected", document, root, done.problem, "check its text; retry with --retry-rejects")
        if not done.cut.passages and not _moves(root):
            return self._ended("skipped", document, root, "no text")
        if document.id not in self._replaced:
            self._seen.add(document)
        self._replaced.discard(document.id)
        return self._ended("indexed", document, root, passages=len(done.cut.passages))

    def _forget(self, ids: Sequence[str]) -> list[Document]:
        """These documents as the index has them until now; what they leave out will not count any more."""
        texts = self._target.texts(ids)
        for document in texts:
            self._accounts.left_out_before.update(list(furniture_of(document)))
        return texts

    def _ended(
        self, kind: Kind, document: Document, root: Root, reason: str = "", remedy: str = "", passages: int = 0
    ) -> Outcome:
        return self._accounts.ended(_outcome(kind, document, root, reason, remedy, passages))

    # --- the end ---------------------------------------------------------------------------------------------------

    def _stopped(self) -> Stopped:
        """Why the run ends before all is read; empty if it goes on."""
        most = self._plan.max_rejects
        if most is not None and self._accounts.kinds["rejected"] > most:
            return "too many rejects"
        return "interrupted" if self._stop.is_set() else ""

    def _delete_vanished(self) -> Iterator[Event]:
        plan = self._plan
        found = vanished(self._target, plan.roots, plan.filters, self._seen, plan.corpus)
        for document_id, source in (*found, *moved_away(self._target, plan.roots, self._seen, plan.corpus)):
            if plan.touched is None or within(source, plan.touched):
                self._seen.miss(document_id, source)  # first all of them: nothing is deleted under a running query
        gone = self._seen.missed()
        files: set[str] = set()
        while some := dict(islice(gone, _DELETE_AT_ONCE)):
            renamed = self._renamed(some)
            covered = {id for id, source in some.items() if any(root.covers(source) for root in plan.roots)}
            deleted = (covered if plan.sync else set()) - renamed.keys()
            files |= {some[id] for id in covered - deleted - renamed.keys() if not os.path.lexists(some[id])}
            if not plan.dry_run:
                with self._accounts.timing("delete"):
                    self._forget([*renamed, *deleted])
                    self._target.delete([*renamed, *deleted])
            for id in (id for id in some if id in renamed or id in deleted):
                kind: Kind = "renamed" if id in renamed else "deleted"
                reason = f"now {renamed[id]}" if id in renamed else "no longer in its source"
                yield self._accounts.ended(Outcome(kind, id, some[id], reason))
        self._accounts.gone = len(files)

    def _renamed(self, missed: Mapping[str, str]) -> dict[str, str]:
        """Those of the missed documents (ids and sources) whose text stands in a new one, with the id of that."""
        if not self._seen.any_new():
            return {}
        texts = self._target.texts([id for id, source in missed.items() if not os.path.lexists(source)])
        return {document.id: new for document in texts if (new := self._seen.same(document.text))}

    def _summary(self) -> Event:
        stages = {"read": sum(reader.seconds for reader in self._readers), **self._encoding.seconds}
        after = self._target.size()
        growth = after - self._size_before if after is not None and self._size_before is not None else None
        return self._accounts.summary(stages, growth, self._plan.dry_run, self._stopped())


def _moves(root: Root) -> bool:
    """Whether a document moves from one index to another: then it is kept even if nothing in it can be found."""
    return root.kind == "index"


def _outcome(
    kind: Kind, document: Document, root: Root, reason: str = "", remedy: str = "", passages: int = 0
) -> Outcome:
    return Outcome(kind, document.id, document.source, reason, remedy, root.path, root.kind, passages)


def batched(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
