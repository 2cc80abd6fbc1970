"""Network namespaces, one for each node of a cluster, between which packets can be dropped.

This process moves into a namespace of its own, the hub, which has a bridge; each node's is joined to it by a pair of
virtual devices. The network of the machine is not touched, and all of it is gone when nobody is in it any more. The
addresses are of 127.0.0.0/8, made to travel between namespaces: servers hold others for the world outside, and then ask
for limits that a machine for tests may not have.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

NEW_NETWORK: Final = 0x40000000
NET: Final = "127.9.0"
"""The first three numbers of every address."""
HUB: Final = 254
_HERE: Final = Path("/proc/thread-self/ns/net")
_C = ctypes.CDLL(None, use_errno=True)


class NotAllowed(Exception):
    """Namespaces cannot be made here; the message says why."""


class Namespaces:
    """Those of the nodes, by number."""

    def __init__(self, files: list[int]) -> None:
        self._files = files

    def address(self, number: int) -> str:
        """Where a node listens."""
        return f"{NET}.{number + 1}"

    @contextmanager
    def inside(self, number: int) -> Iterator[None]:
        """What this thread starts meanwhile belongs to the node."""
        with _kept():
            _enter(self._files[number])
            yield

    @contextmanager
    def parted(self, one: int, other: int) -> Iterator[None]:
        """Two nodes do not hear each other; whoever is at the hub reaches both."""
        pairs = ((one, other), (other, one))
        for number, far in pairs:
            self._route(number, "add", far)
        try:
            yield
        finally:
            for number, far in pairs:
                self._route(number, "del", far)

    def _route(self, number: int, verb: str, far: int) -> None:
        with self.inside(number):
            _ip("route", verb, "blackhole", f"{self.address(far)}/32")


@contextmanager
def namespaces(count: int) -> Iterator[Namespaces]:
    """This thread, and what it starts, is at the hub meanwhile; `NotAllowed` where the system forbids it."""
    with ExitStack() as stack:
        stack.enter_context(_kept())
        try:
            hub = stack.enter_context(_new())
            _ip("link", "add", "hub", "type", "bridge")
            _up("hub", HUB)
            files = [stack.enter_context(_new()) for _ in range(count)]
            for number, file in enumerate(files):
                _enter(hub)
                there = f"/proc/{os.getpid()}/fd/{file}"
                _ip("link", "add", f"node{number}", "type", "veth", "peer", "name", "eth0", "netns", there)
                _ip("link", "set", f"node{number}", "master", "hub", "up")
                _enter(file)
                _up("eth0", number + 1)
            _enter(hub)
        except OSError as error:
            raise NotAllowed(str(error)) from error
        yield Namespaces(files)


@contextmanager
def _new() -> Iterator[int]:
    """A namespace, entered, whose loopback device leaves all addresses but one to others."""
    _check(_C.unshare(NEW_NETWORK), "unshare")
    with _opened() as file:
        _ip("link", "set", "lo", "up")
        _ip("address", "del", "127.0.0.1/8", "dev", "lo")
        _ip("address", "add", "127.0.0.1/32", "dev", "lo")
        Path("/proc/sys/net/ipv4/conf/all/route_localnet").write_text("1")
        yield file


@contextmanager
def _kept() -> Iterator[None]:
    """This thread is back where it was afterwards."""
    with _opened() as before:
        try:
            yield
        finally:
            _enter(before)


@contextmanager
def _opened() -> Iterator[int]:
    try:
        file = os.open(_HERE, os.O_RDONLY)
    except OSError as error:
        raise NotAllowed(str(error)) from error
    try:
        yield file
    finally:
        os.close(file)


def _enter(file: int) -> None:
    _check(_C.setns(file, NEW_NETWORK), "setns")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _up(device: str, number: int) -> None:
    _ip("address", "add", f"{NET}.{number}/24", "dev", device)
    _ip("link", "set", device, "up")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.returncode, f"ip {' '.join(words)}: {done.stderr.strip()}")
