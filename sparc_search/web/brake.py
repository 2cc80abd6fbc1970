"""A brake on guessing: after some wrong tokens an address has to wait, and its tries are not even looked at."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable
from typing import Final

REFILL: Final = 6.0
"""Seconds after which one more try is allowed."""
ADDRESSES: Final = 10_000
"""Addresses that are remembered; the one that has been quiet longest is forgotten first."""


class Brake:
    """Counts wrong tokens by address. A count leaks away, a try every few seconds; zero `tries` is no brake."""

    def __init__(self, tries: int, refill: float = REFILL, clock: Callable[[], float] = time.monotonic) -> None:
        self._tries = tries
        self._refill = refill
        self._clock = clock
        self._counts: dict[str, tuple[float, float]] = {}

    def seconds(self, address: str) -> int:
        """How long this address has to wait until its next try."""
        excess = self._count(_network(address)) - (self._tries - 1)
        return math.ceil(excess * self._refill) if self._tries and excess > 0 else 0

    def wrong(self, address: str) -> None:
        """It gave a wrong token."""
        network = _network(address)
        count = self._count(network) + 1
        self._counts.pop(network, None)  # the one that was wrong last stands last
        self._counts[network] = (count, self._clock())
        if len(self._counts) > ADDRESSES:
            del self._counts[next(iter(self._counts))]

    def _count(self, network: str) -> float:
        count, when = self._counts.get(network, (0.0, 0.0))
        return max(0.0, count - (self._clock() - when) / self._refill)


def _network(address: str) -> str:
    """Whoever has an address of version 6 has 2⁶⁴ of them, so those count as one."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
