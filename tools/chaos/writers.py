"""A writer in a process of its own, which says what it has acknowledged, and may be ended at any moment."""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from sparc_search.errors import SparcSearchError
from sparc_search.settings import Settings

from .ledger import Doing, Operation, Oracle

PATIENCE: Final = 600.0


def writing(
    oracle: Oracle, settings: Settings, wanted: Sequence[Operation], begin: Callable[[], None] = lambda: None
) -> Child:
    """A process that does these operations; what is to happen in it first comes before."""
    encoded = [oracle.encoded(operation.documents) for operation in wanted]

    def write(output: int) -> None:
        begin()
        writer = Doing(settings, oracle.encoder.fingerprint)
        for operation, documents in zip(wanted, encoded, strict=True):
            writer.apply(operation.kind, documents)
            os.write(output, b".")
        writer.close()
        os.write(output, b"closed")

    return Child(write)


class Child:
    """A forked process. No connection of SQLite may be open here when it is born.

    It writes a dot for each operation that has returned, and in the end how it ended.
    """

    def __init__(self, write: Callable[[int], None]) -> None:
        self._reader, output = os.pipe()
        self.acknowledged, self._said = 0, b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                write(output)
            except SparcSearchError as error:
                os.write(output, f"{type(error).__name__}: {error}"[:2000].encode())
            except BaseException as error:
                way = [
                    f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
                ]
                os.write(output, f"raw {type(error).__name__}: {error}, by way of {' '.join(way)}"[:2000].encode())
            finally:
                os._exit(0)
        os.close(output)

    def read(self, seconds: float = 0.0) -> bool:
        """Take what it has said so far; False if it has ended."""
        while select.select([self._reader], [], [], seconds)[0]:
            data = os.read(self._reader, 4096)
            if not data:
                return False
            self._said += data
            self.acknowledged = len(self._said) - len(self._said.lstrip(b"."))
            seconds = 0.0
        return True

    def wait_for(self, count: int) -> bool:
        """Wait until so much is acknowledged; False if it ended before."""
        deadline = time.monotonic() + PATIENCE
        while self.acknowledged < count:
            if not self.read(1.0) or time.monotonic() > deadline:
                return False
        return True

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.read()

    def end(self) -> str:
        """Wait for its end; how it came."""
        deadline = time.monotonic() + PATIENCE
        while self.read(1.0):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
        os.close(self._reader)
        _, status = os.waitpid(self.pid, 0)
        said = self._said.lstrip(b".").decode(errors="replace")
        return said or (f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "raw end")
