"""Bulk loading: actions in, outcomes out, as a stream.

Batches are cut by count and bytes and sent several at a time; the next actions are taken only when there is room, so
whoever makes them is held back. A batch that is turned away for the moment is sent again, only what failed of it, and
smaller. One that is too large is halved; one that is refused as a whole is halved until the culprit stands alone. A
full disk or a block ends it all: waiting would not help.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal

from ...errors import IndexNotFound
from .failures import PASSING, Passing, Refused, described, kind_and_reason
from .server import LOADING, Patience, Server, retried

Kind = Literal["index", "create", "delete"]

_LEAST_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do: `body` is the document's JSON, empty for a delete; `owner` is whose it is."""

    kind: Kind
    index: str
    id: str
    body: str = ""
    owner: str = ""

    @property
    def size(self) -> int:
        """Bytes it takes, about."""
        return len(self.body) + 150


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """How an action ended."""

    action: Action
    status: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is done. What was to be deleted and is not there is done too."""
        return self.status < 300 or (self.status == 404 and self.action.kind == "delete")


@dataclass(frozen=True, slots=True)
class BulkLimits:
    """How much is sent at once, and how patiently."""

    actions: int = 500
    size: int = 8 << 20
    in_flight: int = 3
    patience: Patience = LOADING


class Throttle:
    """How many bytes a batch may have: half as many after each complaint, slowly more while all goes well."""

    def __init__(self, most: int) -> None:
        self._most = self._now = most
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes for the next batch."""
        return self._now

    def slower(self) -> None:
        """The server complained."""
        with self._lock:
            self._now = max(_LEAST_BYTES, self._now // 2)

    def faster(self) -> None:
        """It took a batch at once."""
        with self._lock:
            self._now = min(self._most, self._now + self._now // 8)


def load(
    server: Server, actions: Iterable[Action], limits: BulkLimits | None = None, throttle: Throttle | None = None
) -> Iterator[ActionOutcome]:
    """Do all of it: one outcome for each action, in any order."""
    limits = limits or BulkLimits()
    throttle = throttle or Throttle(limits.size)
    sender = _Sender(server, limits, throttle)
    under_way: deque[Future[list[ActionOutcome]]] = deque()
    with ThreadPoolExecutor(limits.in_flight, thread_name_prefix="bulk") as pool:
        try:
            for batch in batches(actions, limits, throttle):
                under_way.append(pool.submit(sender.send, batch))
                if len(under_way) >= limits.in_flight:
                    yield from under_way.popleft().result()
            while under_way:
                yield from under_way.popleft().result()
        finally:
            sender.stopping.set()
            for future in under_way:
                future.cancel()


def batches(actions: Iterable[Action], limits: BulkLimits, throttle: Throttle) -> Iterator[list[Action]]:
    """The actions as they are sent together."""
    batch: list[Action] = []
    size = 0
    for action in actions:
        if batch and (len(batch) >= limits.actions or size + action.size > throttle.size):
            yield batch
            batch, size = [], 0
        batch.append(action)
        size += action.size
    if batch:
        yield batch


class _Sender:
    """Sends batches until each action has an outcome."""

    def __init__(self, server: Server, limits: BulkLimits, throttle: Throttle) -> None:
        self._server, self._patience, self._throttle = server, limits.patience, throttle
        self.stopping = threading.Event()
        self._unknown = 0
        """How often a node did not know where to write to."""

    def send(self, batch: list[Action]) -> list[ActionOutcome]:
        """The outcomes of a batch. What is done is not sent again."""
        pieces, done = [batch], list[ActionOutcome]()
        retried(self._patience, self._attempt, pieces, done)
        return done

    def _attempt(self, pieces: list[list[Action]], done: list[ActionOutcome]) -> None:
        """Send what is left; `Passing` if the server asks for a pause."""
        while pieces:
            if self.stopping.is_set():
                raise Refused("the load was stopped", "run it again")
            piece, rest = _cut(pieces.pop(), self._throttle.size)
            if rest:
                pieces.append(rest)
            try:
                answer = self._server.send("POST", "/_bulk", lines(piece), {"require_alias": "true"})
            except Passing:
                pieces.append(piece)
                self._throttle.slower()
                raise
            except Refused as error:
                self._refused(error, piece, pieces, done)
                continue
            try:
                finished, again = _sorted(piece, answer["items"], self._server.shown)
            except IndexNotFound as error:
                self._unknown += 1
                if self._unknown >= self._server.nodes:
                    raise
                # A node that was parted from the others knows no newer aliases; the next request goes to another.
                pieces.append(piece)
                raise Passing(error.message, error.remedy) from error
            done += finished
            if again:
                pieces.append(again)
                self._throttle.slower()
                raise Passing(f"{self._server.shown} has no room for {len(again)} documents just now", "try later")
            self._throttle.faster()

    def _refused(
        self, error: Refused, piece: list[Action], pieces: list[list[Action]], done: list[ActionOutcome]
    ) -> None:
        """A whole request was too large, or could not be read: halve it until the culprit stands alone."""
        if error.status not in (400, 413):
            raise error
        if len(piece) > 1:
            pieces += [piece[len(piece) // 2 :], piece[: len(piece) // 2]]
        else:
            too_large = "it is larger than the server takes (http.max_content_length)"
            done.append(ActionOutcome(piece[0], error.status, too_large if error.status == 413 else error.message))
        if error.status == 413:
            self._throttle.slower()


def _cut(actions: list[Action], size: int) -> tuple[list[Action], list[Action]]:
    """As many as fit, one at least, and the rest."""
    total = 0
    for number, action in enumerate(actions):
        total += action.size
        if number and total > size:
            return actions[:number], actions[number:]
    return actions, []


def lines(actions: Sequence[Action]) -> str:
    """The body of a bulk request."""
    parts: list[str] = []
    for action in actions:
        parts.append(json.dumps({action.kind: {"_index": action.index, "_id": action.id}}))
        if action.kind != "delete":
            parts.append(action.body)
    return "\n".join(parts) + "\n"


def _sorted(actions: Sequence[Action], items: Sequence[Any], where: str) -> tuple[list[ActionOutcome], list[Action]]:
    """What is finished with, and what is to be sent again; raises what ends the whole load."""
    finished, again = [], []
    for action, item in zip(actions, items, strict=True):
        found = item[action.kind]
        status, error = int(found["status"]), found.get("error", "")
        kind, reason = kind_and_reason(error)
        if kind == "cluster_block_exception":  # a full disk comes as a 429 too
            problem = described(status, error, where)
            if not isinstance(problem, Passing):
                raise problem
            again.append(action)
        elif status in PASSING:
            again.append(action)
        elif status in (401, 403) or kind == "index_not_found_exception":
            raise described(status, error, where)
        else:
            finished.append(ActionOutcome(action, status, f"{kind}: {reason}" if error else ""))
    return finished, again
