"""The threads of the pipeline, and what they send to the one that started them."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .budget import Budget
from .encoding import CutJob, Done, Encoding, Job, Stopped
from .reading import Read, Reading
from .walk import Found, Passed

_POOLS: Final = 4  # that may be encoded and not yet taken
_OVERHEAD: Final = 1_000  # characters that anything counts for besides its text
_ENCODED: Final = 50  # times as much as its text alone does a document count for that has its phrase blocks


class Arrived:
    """Something was read and lies in `Arrivals`."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A pool of documents, encoded."""

    done: list[Done]


@dataclass(frozen=True, slots=True)
class Failed:
    """A thread has ended by an error."""

    error: BaseException


class ReadAll:
    """A reader has nothing more."""


class EncodedAll:
    """The encoder has nothing more."""


Message = Arrived | Encoded | Failed | ReadAll | EncodedAll
Inbox = queue.SimpleQueue[Message]
Jobs = queue.SimpleQueue[Job | None]
Cuts = queue.SimpleQueue[CutJob | None]


def cost(item: Read | Job | Passed) -> int:
    """What an item takes of the budget from when it is read until it is finished with."""
    if isinstance(item, Passed):
        return _OVERHEAD
    return _OVERHEAD + len(item.document.text) * (_ENCODED if item.encoded else 1)


class Arrivals:
    """Where the reader puts what it has read. One message is enough for all that gathers until somebody looks."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._items: list[Read | Passed] = []
        self._lock = threading.Lock()

    def put(self, item: Read | Passed) -> None:
        """Put something there, and say so if nobody has been told yet."""
        with self._lock:
            self._items.append(item)
            first = len(self._items) == 1
        if first:
            self._inbox.put(Arrived())

    def __len__(self) -> int:
        return len(self._items)

    def take(self) -> list[Read | Passed]:
        """All that is there."""
        with self._lock:
            items, self._items = self._items, []
        return items


class Shared(Iterator[Found | Passed]):
    """One iterator for several threads."""

    def __init__(self, found: Iterator[Found | Passed]) -> None:
        self._found, self._lock = found, threading.Lock()

    def __next__(self) -> Found | Passed:
        with self._lock:
            return next(self._found)


class ReaderThread(threading.Thread):
    """Takes one file after another and reads it, as fast as the budget allows."""

    def __init__(
        self, reading: Reading, found: Shared, arrivals: Arrivals, inbox: Inbox, budget: Budget, ending: threading.Event
    ) -> None:
        super().__init__(name="reader", daemon=True)
        self.reading, self._items, self._arrivals = reading, reading.everything(found), arrivals
        self._inbox, self._budget, self._ending = inbox, budget, ending
        self.seconds = 0.0

    def run(self) -> None:
        """Read until there are no more files."""
        try:
            while (item := self._timed_next()) is not None:
                if self._ending.is_set() or not self._budget.take(cost(item)):
                    return
                self._arrivals.put(item)
            self._inbox.put(ReadAll())
        except BaseException as error:  # belongs to the thread that started this one
            self._inbox.put(Failed(error))
        finally:
            self.reading.close()

    def _timed_next(self) -> Read | Passed | None:
        started = time.perf_counter()
        try:
            return next(self._items, None)
        finally:
            self.seconds += time.perf_counter() - started


class CutterThread(threading.Thread):
    """Cuts documents, so that the encoder always has passages waiting; `None` is the end and is handed on."""

    def __init__(self, encoding: Encoding, jobs: Jobs, cuts: Cuts, inbox: Inbox, ending: threading.Event) -> None:
        super().__init__(name="cutter", daemon=True)
        self._encoding, self._jobs, self._cuts, self._inbox, self._ending = encoding, jobs, cuts, inbox, ending

    def run(self) -> None:
        """Cut everything."""
        try:
            while (job := self._jobs.get()) is not None and not self._ending.is_set():
                self._cuts.put(self._encoding.cut(job))
        except BaseException as error:  # belongs to the thread that started this one
            self._inbox.put(Failed(error))
        finally:
            self._cuts.put(None)


class EncoderThread(threading.Thread):
    """Takes what there is in its queue, up to a pool, and encodes it; `None` in the queue is the end."""

    def __init__(self, encoding: Encoding, cuts: Cuts, inbox: Inbox, ending: threading.Event) -> None:
        super().__init__(name="encoder", daemon=True)
        self._encoding, self._cuts, self._inbox, self._ending = encoding, cuts, inbox, ending
        self._room = threading.Semaphore(_POOLS)
        self._more = True

    def received(self) -> None:
        """Somebody has taken a pool off its hands. Encoded text is far larger than text, so few may lie about."""
        self._room.release()

    def run(self) -> None:
        """Encode everything."""
        try:
            while self._more and not self._ending.is_set():
                pool = self._gather()
                if pool and self._has_room():
                    self._inbox.put(Encoded(self._encoding.encode(pool)))
            self._inbox.put(EncodedAll())
        except Stopped:
            self._inbox.put(EncodedAll())
        except BaseException as error:  # belongs to the thread that started this one
            self._inbox.put(Failed(error))

    def _has_room(self) -> bool:
        """Wait until not too much is encoded and not taken; false if the run is ending."""
        while not self._ending.is_set():
            if self._room.acquire(timeout=0.5):
                return True
        return False

    def _gather(self) -> list[CutJob]:
        """Wait for one document, then take as many more as are there: the encoder never waits for a full pool."""
        pool: list[CutJob] = []
        tokens = 0
        cut = self._cuts.get()
        while cut is not None:
            pool.append(cut)
            tokens += sum(cut.lengths)
            if tokens >= self._encoding.pool_tokens:
                return pool
            try:
                cut = self._cuts.get_nowait()
            except queue.Empty:
                return pool
        self._more = False
        return pool
