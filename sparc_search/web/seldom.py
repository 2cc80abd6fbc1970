"""One line of log for each kind of trouble, however often it happens: who makes a server log can fill its disk."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

SECONDS: Final = 60.0
LOGGERS: Final = ("uvicorn.error", "asyncio", "sparc_search.web")


@dataclass(slots=True)
class _Told:
    record: logging.LogRecord
    when: float
    more: int = 0


class Seldom(logging.Filter):
    """Lets the first record of a kind through, and the next one a while later, with how many there were in between.

    A kind is the place an exception comes from, whoever logs it, or else the text before its values are filled in.
    """

    def __init__(self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._told: dict[object, _Told] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this one is written."""
        if record.levelno < logging.WARNING:
            return True
        kind, now = _kind(record), self._clock()
        told = self._told.get(kind)
        if told and now < told.when + self._seconds:
            told.more += 1
            return False
        if told and told.more:
            record.msg, record.args = f"{record.getMessage()} {_times(told.more)}", ()
        self._told[kind] = _Told(record, now)
        return True

    def rest(self) -> Iterator[str]:
        """What was kept back and not yet told of."""
        for told in self._told.values():
            if told.more:
                yield f"{told.record.getMessage().strip()} {_times(told.more)}"


def _kind(record: logging.LogRecord) -> object:
    error = record.exc_info[1] if record.exc_info else None
    trace = error.__traceback__ if error else None
    if trace is None:
        return record.msg
    while trace.tb_next:
        trace = trace.tb_next
    return type(error), trace.tb_frame.f_code.co_filename, trace.tb_lineno


def _times(more: int) -> str:
    return f"({more:,} more like this since)"


@contextlib.contextmanager
def seldom() -> Iterator[None]:
    """Hold the loggers of a server to it; at the end they tell what they kept back."""
    rule = Seldom()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(rule)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(rule)
        for line in rule.rest():
            loggers[-1].warning("%s", line)
