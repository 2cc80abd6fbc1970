"""How much memory a cluster needs, and whether this machine has it."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import ServerError, UsageError

MEGABYTE = 1 << 20
BESIDE_HEAP = 400 * MEGABYTE
"""What a node takes besides its heap: classes, threads, network buffers (measured: 300 to 450 MB)."""

_SIZE = re.compile(r"(\d+)([mg])", re.IGNORECASE)


def heap_bytes(heap: str) -> int:
    """`512m` or `2g` as bytes."""
    match = _SIZE.fullmatch(heap)
    if not match or not int(match[1]):
        raise UsageError(f"{heap!r} is no size of a heap", "write it like 512m or 2g")
    return int(match[1]) * MEGABYTE * (1024 if match[2] in "gG" else 1)


def require_memory(nodes: int, heap: str, available: int | None) -> None:
    """`ServerError` if a cluster needs more memory than is free; where that is not known, it is taken to be enough."""
    needed = nodes * (heap_bytes(heap) + BESIDE_HEAP)
    if available is not None and needed > available:
        raise ServerError(
            f"{nodes} node{'s' * (nodes > 1)} with a heap of {heap} need {needed // MEGABYTE} MB of memory, and "
            f"{available // MEGABYTE} MB are free",
            "close some programs, or ask for fewer nodes or a smaller --heap",
        )


def available_memory(meminfo: Path = Path("/proc/meminfo"), limits: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes of memory that are free, by the kernel and by the container's limit; None where neither tells."""
    try:
        match = re.search(r"^MemAvailable: +(\d+) kB", meminfo.read_text(), re.MULTILINE)
    except OSError:
        return None
    if not match:
        return None
    free = int(match[1]) * 1024
    try:
        limit, used = (int((limits / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no container, or one without a limit
        return free
    return min(free, limit - used)
