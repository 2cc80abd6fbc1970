"""Ports of this machine: which are free."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Final

from ..errors import ServerError

LOOPBACK = "127.0.0.1"
APART = 100
"""A node speaks to others of its cluster on the port this far above the one it answers requests on."""
FIRST_FREE: Final = 10_240
"""Below are the ports that programs are known by."""


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def require_free(port: int, nodes: int = 1) -> None:
    """Refuse a port that is taken, before anything is fetched or started."""
    for number in range(port, port + nodes):
        for taken in (number, number + APART):
            if not is_free(taken):
                raise ServerError(
                    f"port {taken} is taken by another program",
                    f"choose others with --port (a node needs its port and the one {APART} above it)",
                )


def free_port(nodes: int = 1) -> int:
    """The first of as many free ports in a row as a cluster of `nodes` needs.

    None that the system hands to connections: a node that is killed would find its port taken when it comes back.
    """
    last = max(first_of_connections(), 2 * FIRST_FREE) - nodes - APART
    for _ in range(100):
        port = random.randrange(FIRST_FREE, last)
        if all(is_free(number + above) for number in range(port, port + nodes) for above in (0, APART)):
            return port
    raise ServerError("no free ports were found on this machine", "close some programs")


def first_of_connections() -> int:
    """The lowest port that the system gives to a program which connects and does not care from where."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 32768  # Linux's; others begin higher
