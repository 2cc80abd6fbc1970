"""The nodes of a cluster: whoever cannot be reached is passed over, whoever is slow to answer is overtaken by another.

A request goes to one node. If that cannot be reached, it goes to the next at once. One that only reads is also sent to
another node when no answer has come after a short time; the first answer counts. So a node that hangs costs a moment,
and not the time limit of a request. How many such second requests are under way at once is bounded: a cluster that is
slow as a whole must not be asked twice as much.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

from ...errors import IndexNotFound
from .failures import Passing

SHORT: Final = 1.0
"""Seconds after which another node is asked too."""

AT_ONCE: Final = 16
"""Second requests that may be under way at once."""

ASIDE: Final = 30.0
"""Seconds for which a node that could not be reached, or was overtaken, is asked last."""

Ask = Callable[[bool], Any]
"""Sends a request to one node; with True, to be answered from a copy on that very node, if it has one.

A node passes a request on to whoever has a copy of the shard, and that may be the one that hangs.
"""


class Unreachable(Passing):
    """A node that no connection could be made to."""


class _Attempt(NamedTuple):
    """A request to a node."""

    node: int
    near: bool


class _Answer(NamedTuple):
    """What became of it."""

    attempt: _Attempt
    value: Any = None
    error: BaseException | None = None


class Nodes:
    """Which node is asked next. Safe to use from several threads."""

    def __init__(self, count: int) -> None:
        self._aside = [0.0] * count
        self._next = 0
        self._near_until = 0.0
        """Until then copies near by are asked at once: some node hung when it was passed a request."""
        self._room = threading.Semaphore(AT_ONCE)

    def order(self) -> list[int]:
        """All nodes, each time beginning with another; those that gave trouble lately come last."""
        count, now = len(self._aside), time.monotonic()
        self._next = (self._next + 1) % count
        turn = [(self._next + at) % count for at in range(count)]
        return sorted(turn, key=lambda node: self._aside[node] > now)

    def _set_aside(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._aside[node] = time.monotonic() + ASIDE

    def one_after_the_other(self, asks: Sequence[Ask]) -> Any:
        """The answer of the first node that can be reached, and knows what it is asked to change.

        One that was parted from the others knows no newer aliases.
        """
        *others, last = self.order()
        for node in others:
            try:
                return asks[node](False)
            except (Unreachable, IndexNotFound):
                self._set_aside([node])
        return asks[last](False)

    def first_to_answer(self, asks: Sequence[Ask]) -> Any:
        """The first answer of several nodes."""
        waiting, under_way = self._attempts(), list[_Attempt]()
        answers: SimpleQueue[_Answer] = SimpleQueue()

        def ask_next(done: Callable[[], None]) -> None:
            attempt = waiting.pop(0)
            under_way.append(attempt)
            _in_the_background(attempt, asks[attempt.node], answers, done)

        ask_next(_nothing)
        while True:
            answer = _next(answers, SHORT if waiting else None)
            if answer is None:
                if self._room.acquire(blocking=False):
                    ask_next(self._room.release)
                continue
            under_way.remove(answer.attempt)
            if isinstance(answer.error, Passing) and (under_way or waiting):
                self._set_aside([answer.attempt.node])
                if not under_way:
                    ask_next(_nothing)
                continue
            self._learn(answer.attempt, under_way)
            if answer.error is not None:
                raise answer.error
            return answer.value

    def _attempts(self) -> list[_Attempt]:
        """Each node once, and the first again, which may have passed the request on before."""
        first, *others = self.order()
        near = time.monotonic() < self._near_until
        again = [] if near else [_Attempt(first, True)]
        return [_Attempt(first, near), *(_Attempt(node, True) for node in others), *again]

    def _learn(self, winner: _Attempt, overtaken: Sequence[_Attempt]) -> None:
        self._set_aside(attempt.node for attempt in overtaken if attempt.node != winner.node)
        if overtaken and winner.near:
            self._near_until = time.monotonic() + ASIDE


def _in_the_background(attempt: _Attempt, ask: Ask, answers: SimpleQueue[_Answer], done: Callable[[], None]) -> None:
    """Ask in a thread that nobody waits for: one that hangs must not keep a process from ending."""

    def run() -> None:
        try:
            answers.put(_Answer(attempt, ask(attempt.near)))
        except BaseException as error:
            answers.put(_Answer(attempt, error=error))
        finally:
            done()

    threading.Thread(target=run, name=f"node-{attempt.node}", daemon=True).start()


def _next(answers: SimpleQueue[_Answer], seconds: float | None) -> _Answer | None:
    try:
        return answers.get(timeout=seconds)
    except Empty:
        return None


def _nothing() -> None:
    """What is done after a first request."""
