"""Parsing risky formats in a child process with limits on memory, time and output: one bad file is one reject.

The child is a fresh interpreter that gets an open file and sends documents back as JSON. It serves one file after
another, and is replaced when it dies, hangs or has served many.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import IO, Final

from sparc_search.errors import RejectedDocument

from .frames import FrameTooLarge, item_from_json, pack, receive
from .limits import ChildLimits
from .resuming import Item

_FILES_PER_CHILD: Final = 200
_KEPT_ENVIRONMENT: Final = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR")  # no secrets for a parser


class Sandbox:
    """Runs readers in a child process. Not for several threads at once; close it in the end."""

    def __init__(self, limits: ChildLimits | None = None) -> None:
        self._limits = limits or ChildLimits()
        self._child: _Child | None = None

    def read(self, reader: str, file: IO[bytes], source: str, options: Mapping[str, str]) -> Iterator[Item]:
        """The documents and rejects of an open file, read by the reader of this name."""
        size = os.fstat(file.fileno()).st_size
        patience = self._limits.patience(size)
        child = self._ready_child()
        complete = False
        try:
            request = {"reader": reader, "source": source, "options": dict(options), "seconds": patience}
            child.ask(request, file.fileno())
            while (item := child.answer(patience, self._limits.document_bytes)) is not None:
                yield item
            complete = True
        except (OSError, EOFError, FrameTooLarge, ValueError, TypeError, KeyError) as error:
            yield self._reject(child, error, patience)
        finally:
            if not complete:  # what it would say next belongs to a file nobody waits for
                self.close()

    def close(self) -> None:
        """End the child."""
        if self._child:
            self._child.kill()
            self._child = None

    def interrupt(self) -> None:
        """From another thread: let a file that is being read end at once, as a reject."""
        if child := self._child:
            child.stop()

    def _ready_child(self) -> _Child:
        if self._child and self._child.served >= _FILES_PER_CHILD:
            self.close()
        if not self._child:
            self._child = _Child(self._limits)
        self._child.served += 1
        return self._child

    def _reject(self, child: _Child, error: Exception, patience: float) -> RejectedDocument:
        if isinstance(error, TimeoutError):
            return RejectedDocument(f"took longer than {patience:.0f} seconds to parse", "split or convert the file")
        if isinstance(error, FrameTooLarge):
            return RejectedDocument(f"a document of {error.args[0]:,} bytes", "split it into smaller documents")
        if isinstance(error, EOFError | OSError):
            return RejectedDocument(f"the parser {child.end()}", "check or convert the file")
        return RejectedDocument(f"the parser answered nonsense: {error}", "check or convert the file")


class _Child:
    """One child process and the line to it."""

    def __init__(self, limits: ChildLimits) -> None:
        self._line, other = socket.socketpair()
        self.served = 0
        with other:
            self._process = subprocess.Popen(
                # -P: nothing is imported from the working directory, which may be the corpus
                [sys.executable, "-P", "-B", "-m", "sparc_search.loaders.sandbox_child", str(other.fileno()),
                 str(limits.memory_bytes)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(other.fileno(),),
                env={name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ},
                start_new_session=True,  # Ctrl-C is for the parent alone
            )  # fmt: skip

    def ask(self, request: object, file: int) -> None:
        """Send a request together with an open file."""
        data = pack(request)
        self._line.settimeout(None)
        sent = socket.send_fds(self._line, [data], [file])
        self._line.sendall(data[sent:])

    def answer(self, seconds: float, limit: int) -> Item | None:
        """The next document or reject; nothing when the file is at its end."""
        message = receive(self._line, limit, seconds)
        return None if "end" in message else item_from_json(message)

    def stop(self) -> None:
        """End the process and nothing else; whoever waits for its answer sees it gone."""
        self._process.kill()

    def end(self) -> str:
        """How it ended, in words."""
        self.kill(wait=5)
        code = self._process.returncode
        if code < 0 and -code in set(signal.Signals):
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with code {code}"

    def kill(self, wait: float = 0) -> None:
        """Make sure that it is gone; if it is about to end by itself, let it within `wait` seconds."""
        self._line.close()
        try:
            self._process.wait(timeout=wait or 0.001)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.wait()
