"""How an index came to be: one JSON line for each ingest in a file beside it, and the documents that were rejected."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from .outcomes import Summary

MOST = 50
"""Ingests and rejects that are shown."""


_COUNTS = ("read", "indexed", "unchanged", "rejected", "skipped", "deleted", "passages", "stopped")


def note_ingest(location: Path, summary: Summary, paths: Sequence[str], when: datetime | None = None) -> None:
    """Write down that a run has ended. A disk that takes no line more is no reason for the run to fail."""
    counts = {name: getattr(summary, name) for name in _COUNTS}
    line = {"when": (when or datetime.now(UTC)).isoformat(timespec="seconds"), "paths": list(paths), **counts}
    with suppress(OSError), _beside(location, "ingests").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def ingests(location: Path, most: int = MOST) -> list[dict[str, Any]]:
    """The newest runs first."""
    return [*deque(_lines(_beside(location, "ingests")), maxlen=most)][::-1]


def rejects(location: Path, most: int = MOST) -> list[dict[str, Any]]:
    """The first documents that the last run rejected: id, reason, remedy, source."""
    return list(islice(_lines(rejects_path(location)), most))


def rejects_path(location: Path) -> Path:
    """Where the reject file of an index is, unless its user names another."""
    return _beside(location, "rejects")


def _beside(location: Path, what: str) -> Path:
    return location.with_name(f"{location.name}.{what}.jsonl")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; what is no JSON object (a line that was cut off by a crash) is passed over."""
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    yield found
