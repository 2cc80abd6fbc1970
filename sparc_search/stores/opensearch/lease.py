"""One writer at a time: a document that the writer keeps renewing. Every change of it is compare-and-set.

A second writer is turned away at once while the first renews its lease. One that was killed is followed when its lease
has run out, or, if it ran on this machine, as soon as its process is seen to be gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from uuid import uuid4

from ...errors import EngineError, IndexLocked, SparcSearchError
from . import pause
from .failures import Conflict
from .server import LOADING, ONCE, Patience, Server, retried
from .state import Stamp, stamp_of
from .understood import understood

SECONDS: Final = 30.0
"""How long a lease lasts unless it is renewed, which happens three times as often."""

_ID: Final = "lease"
_living: set[str] = set()
"""Owners in this very process."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lease; nobody, if `until` is 0."""

    owner: str
    host: str
    process: int
    since: float
    until: float

    @property
    def shown(self) -> str:
        """For an error message."""
        began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        return f"process {self.process} on {self.host}, since {began}"

    def is_gone(self) -> bool:
        """Whether it surely does not write any more."""
        if self.until == 0 or time.time() > self.until:
            return True
        if self.host != socket.gethostname():
            return False
        if self.process == os.getpid():  # this process, or one that had its number in another life
            return self.owner not in _living
        return not _is_running(self.process)


class Lease:
    """The right to write to an index, held until `release`."""

    def __init__(self, server: Server, index: str, seconds: float = SECONDS) -> None:
        self._server, self._control, self._seconds = server, index, seconds
        now = time.time()
        self._me = Holder(uuid4().hex, socket.gethostname(), os.getpid(), now, now + seconds)
        self._shown = f"{index.removesuffix('-control')!r} on {server.shown}"
        self.follows_a_crash = False
        """Whether the one before did not let go: it was killed, or has not been heard of for too long."""
        _living.add(self._me.owner)  # before anyone can read who it is
        try:
            self._stamp = self._acquire()
        except BaseException:
            _living.discard(self._me.owner)
            raise
        self._good_until = time.monotonic() + seconds
        self._lost = ""
        self.turn = threading.RLock()
        """Held by whoever changes the index, or copies it."""
        self._released = threading.Event()
        self._renewing = threading.Lock()
        self._renewer = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._renewer.start()

    def check(self) -> None:
        """`IndexLocked` if the lease is not ours any more: nothing may be written then."""
        if not self._lost and time.monotonic() > self._good_until:
            self._renew_late()
        if self._lost:
            raise IndexLocked(
                f"the lease on {self._shown} was lost: {self._lost}",
                "run the same command again; what was done is kept",
            )

    def confirm(self) -> None:
        """`IndexLocked` if the server says now that the lease is not ours."""
        self._renew_late()
        self.check()

    def pause(self) -> None:
        """Wait while somebody copies the index: to be called before each change."""
        pause.keep(self._server, self._control, self.owner)

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self._me.owner

    def release(self) -> None:
        """Let others write. If the server is not there to be told, the lease just runs out."""
        if self._released.is_set():
            return
        self._released.set()
        self._renewer.join()
        _living.discard(self._me.owner)
        if not self._lost:
            try:
                self._write(replace(self._me, until=0.0), self._stamp, ONCE)
            except SparcSearchError:
                return

    # --- inside ----------------------------------------------------------------------------------------------------

    def _acquire(self) -> Stamp:
        """Become the writer; wait only for one that seems to be gone."""
        while True:
            holder, stamp = self._read()
            if holder is None or holder.is_gone():
                try:
                    stamp = self._write(self._renewed(), stamp)
                    self.follows_a_crash = holder is not None and holder.until != 0
                    return stamp
                except Conflict:
                    continue  # somebody was faster: see who
            if time.time() < holder.until - self._seconds / 2:  # it was renewed not long ago
                raise IndexLocked(
                    f"another process is writing to the index {self._shown}: {holder.shown}",
                    "wait until it has finished, or stop it",
                )
            time.sleep(min(1.0, self._seconds / 10))

    def _read(self) -> tuple[Holder | None, Stamp | None]:
        return _read(self._server, self._control)

    def _write(self, holder: Holder, stamp: Stamp | None, patience: Patience = LOADING) -> Stamp:
        """Compare and set. An answer that got lost on the way is looked for."""
        body: dict[str, Any] = {"kind": "lease", "body": asdict(holder)}
        params: dict[str, object] = stamp.condition if stamp else {"op_type": "create"}
        try:
            return stamp_of(self._server.request("PUT", _path(self._control), body, params, patience=patience))
        except Conflict:
            found, now = self._read()
            if found is None or found.owner != holder.owner or now is None:
                raise
            return now  # of this write, or of one before it whose answer was lost

    def _renewed(self) -> Holder:
        return replace(self._me, until=time.time() + self._seconds)

    def _keep(self) -> None:
        """Renew until released. A server that does not answer is asked again; a lease that someone took is lost."""
        while not self._released.wait(self._seconds / 3):
            try:
                self._renew()
                self._pause_if_idle()
            except Conflict:
                self._lost = "another process has taken it"
                return
            except EngineError:
                continue
            except SparcSearchError as error:  # a full disk: the load itself will say so
                self._lost = error.message
                return

    def _renew(self) -> None:
        with self._renewing:
            began = time.monotonic()
            self._stamp = self._write(self._renewed(), self._stamp, ONCE)
            self._good_until = began + self._seconds

    def _pause_if_idle(self) -> None:
        if self.turn.acquire(blocking=False):
            try:
                with understood():  # what is not must not end the renewing
                    pause.is_kept(self._server, self._control, self.owner)
            finally:
                self.turn.release()

    def _renew_late(self) -> None:
        """The server was away for longer than the lease lasts. If nobody has taken it since, it is still ours."""
        try:
            retried(LOADING, self._renew)
        except Conflict:
            self._lost = "another process has taken it"
        except SparcSearchError as error:
            self._lost = error.message


def holder_of(server: Server, control: str) -> str:
    """Who writes to an index now, as an owner of the lease; nobody is ""."""
    holder, _ = _read(server, control)
    return "" if holder is None or holder.is_gone() else holder.owner


def _read(server: Server, control: str) -> tuple[Holder | None, Stamp | None]:
    found = server.document(_path(control), patience=LOADING)
    return (Holder(**found["_source"]["body"]), stamp_of(found)) if found else (None, None)


def _path(control: str) -> str:
    return f"/{control}/_doc/{_ID}"


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # asking would end it; its lease runs out by itself
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
