"""Ports of this machine: which are free."""

from __future__ import annotations

import socket

from ..errors import ServerError

LOOPBACK = "127.0.0.1"
APART = 100
"""A node speaks to others of its cluster on the port this far above the one it answers requests on."""


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
    """The first of as many free ports in a row as a cluster of `nodes` needs."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        wanted = [number + above for number in range(port, port + nodes) for above in (0, APART)]
        if max(wanted) < 65536 and all(map(is_free, wanted)):
            return port
    raise ServerError("no free ports were found on this machine", "close some programs")
