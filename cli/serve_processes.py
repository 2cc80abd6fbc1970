"""`serve --processes N`: several processes behind one address, each with the same index, whose files are mapped once.

Each is started anew (the network has threads, which a fork would lose), reads what it is to serve from its standard
input and says on its standard output when it is ready. The input ends with the first process, however that ends, and
with the input each of the others. One that ends by itself is replaced.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from socket import socket
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from sparc_search.errors import EngineError, SparcSearchError
from sparc_search.settings import Settings
from sparc_search.web.limits import WebLimits

from .further_index import opened
from .ingest_watch import followed
from .terminal import note, result

if TYPE_CHECKING:
    from sparc_search.index import Index


@dataclass(frozen=True, slots=True)
class Service:
    """What is served, and how."""

    settings: Settings
    limits: WebLimits
    app: Mapping[str, Any]
    """Of `create_app`."""
    also: tuple[str, ...] = ()
    """Further indexes, as `--also` names them."""
    watch: tuple[str, ...] = ()
    """Folders that the index follows. Of several processes the first does it."""

    def serve(self, door: Callable[[], socket], ready: Callable[[socket], None]) -> None:
        """Open the index, then the door, and answer until told to stop."""
        from sparc_search.web import serving
        from sparc_search.web.app import create_app

        limits = serving.fitted(self.limits)
        with self._index() as index, ExitStack() as stack:
            index.prepare()
            further = dict(opened(self.settings, given) for given in self.also)
            for other in further.values():
                stack.enter_context(other)
            app = create_app(index, limits=limits, also=further, **self.app)
            with door() as listening:
                ready(listening)
                stack.enter_context(followed(index, self.watch))
                serving.serve(app, listening, limits)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Meanwhile the index follows its folders; nothing else is done with it."""
        with self._index() if self.watch else nullcontext() as index, followed(index, self.watch):
            yield

    def _index(self) -> Index:
        """The index, made if it is to follow folders and is not there yet."""
        from sparc_search.index import Index

        return Index.create(settings=self.settings, exist_ok=True) if self.watch else Index(self.settings)

    def shared_by(self, processes: int) -> Service:
        """The part of each of so many processes, so that together they take as much as one would."""

        def share(number: int) -> int:
            return -(-number // processes)

        limits = self.limits
        parts = {name: share(getattr(limits, name)) for name in ("running", "waiting", "connections", "login_tries")}
        threads = self.settings.threads or max(1, (os.cpu_count() or 1) // processes)
        return replace(self, settings=self.settings.changed(threads=threads), limits=replace(limits, **parts))

    def packed(self) -> bytes:
        """For another process: the settings by what was given."""
        given = {value.key: value.value for value in self.settings.values() if value.source != "default"}
        return pickle.dumps((given, self.limits, dict(self.app), self.also))

    @classmethod
    def unpacked(cls, stream: BinaryIO) -> Self:
        """What was packed."""
        given, limits, app, also = pickle.load(stream)
        return cls(Settings().changed(**given), limits, app, also)


def serve_in_processes(count: int, service: Service, listening: socket, ready: Callable[[socket], None]) -> None:
    """Answer by so many processes until told to stop (Ctrl-C, SIGTERM); requests that run are answered first."""
    ended: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
    part = service.shared_by(count)
    with ExitStack() as children, _signals(lambda: ended.put(None)):
        for started in [_start(part, listening, children) for _ in range(count)]:
            _watch(started, ended)
        ready(listening)
        while (gone := ended.get()) is not None:
            note(f"a process of the server ended (exit code {gone.returncode}): another takes its place")
            _watch(_start(part, listening, children), ended)


def _start(service: Service, listening: socket, children: ExitStack) -> subprocess.Popen[bytes]:
    """A process that is told to stop, and waited for, when the children's context ends."""
    door = listening.fileno()
    command = [sys.executable, "-P", "-m", "sparc_search.cli.serve_processes", str(door)]
    child = children.enter_context(
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(door,))
    )
    children.callback(child.terminate)
    assert child.stdin
    child.stdin.write(service.packed())
    child.stdin.flush()
    return child


def _watch(child: subprocess.Popen[bytes], ended: queue.SimpleQueue[subprocess.Popen[bytes] | None]) -> None:
    """Wait until it answers; then tell when it does no more."""
    assert child.stdout
    if not child.stdout.readline():
        raise EngineError("a process of the server did not start", "what it says is above; try `--processes 1`")

    def wait() -> None:
        child.wait()
        ended.put(child)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _signals(told: Callable[[], None]) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: told()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def main() -> int:
    """One of the processes."""
    from sparc_search.web.connections import Door

    from . import logs
    from .main import report

    service = Service.unpacked(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    logs.configure(service.settings.log_level, service.settings.log_format)
    try:
        service.serve(lambda: Door(fileno=int(sys.argv[1])), lambda _: result("ready"))
    except SparcSearchError as error:
        return report(error)
    return 0


def _end_with_the_first() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
