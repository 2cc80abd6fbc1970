"""What memory a process has (Linux), in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_KINDS: Final = {"VmRSS": "resident", "RssAnon": "own", "RssFile": "mapped"}


def memory() -> dict[str, int]:
    """All that is resident; what is its own; and pages of mapped files, which the system can take back at any time."""
    lines = (line.partition(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {_KINDS[name]: 1024 * int(value.split()[0]) for name, _, value in lines if name in _KINDS}
