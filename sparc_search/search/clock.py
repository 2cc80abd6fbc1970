"""Where the time of a question goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds by stage. A stage inside another one stops the outer one's time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage = ""
        self._since = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time the block takes to a stage."""
        outer = self._switch(name)
        try:
            yield
        finally:
            self._switch(outer)

    def _switch(self, name: str) -> str:
        now, left = time.perf_counter(), self._stage
        if left:
            self.seconds[left] = self.seconds.get(left, 0.0) + now - self._since
        self._stage, self._since = name, now
        return left
