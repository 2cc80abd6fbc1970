"""How an index came to be: one JSON line for each ingest in a file beside it, and the documents that were rejected.

Another file tells where the models are that it was encoded with anew, so that whoever reads it can follow.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from sparc_search.settings import Settings

from .outcomes import Summary

MOST = 50
"""Ingests and rejects that are shown."""

DEFAULT_MODEL = Settings().model


_COUNTS = (
    "read",
    "indexed",
    "unchanged",
    "rejected",
    "skipped",
    "renamed",
    "deleted",
    "passages",
    "left_out",
    "left_out_words",
    "left_out_growth",
    "stopped",
)


def note_ingest(
    location: Path, summary: Summary, paths: Sequence[str], when: datetime | None = None, *, rebuilt: bool = False
) -> None:
    """Write down that a run has ended. A disk that takes no line more is no reason for the run to fail."""
    counts = {name: getattr(summary, name) for name in _COUNTS}
    line = {"when": (when or datetime.now(UTC)).isoformat(timespec="seconds"), "paths": list(paths), **counts}
    _append(_beside(location, "ingests"), {**line, "rebuilt": rebuilt})


def ingests(location: Path, most: int = MOST) -> list[dict[str, Any]]:
    """The newest runs first."""
    return [*deque(_lines(_beside(location, "ingests")), maxlen=most)][::-1]


def note_model(location: Path, fingerprint: str, model: str) -> None:
    """Write down where a model is that an index is about to be of."""
    place = model if model == DEFAULT_MODEL else str(Path(model).expanduser().absolute())
    line = {"fingerprint": fingerprint, "model": place}
    _append(_beside(location, "models"), line)


def models(location: Path, fingerprint: str) -> list[str]:
    """Where a model was, the last place first. What is there now may be another."""
    lines = [line for line in _lines(_beside(location, "models")) if line.get("fingerprint") == fingerprint]
    return list(dict.fromkeys(str(line.get("model", "")) for line in reversed(lines)))


def left_out(location: Path) -> dict[str, int]:
    """How many menus, footers and the like of its documents this index leaves out, and how many words."""
    sums = {"blocks": 0, "words": 0}
    for line in _lines(_beside(location, "ingests")):
        before = {
            "blocks": line.get("left_out", 0),
            "words": line.get("left_out_words", 0),
        }  # of versions that had no more
        growth = line.get("left_out_growth") or before
        for name in sums:
            value = growth.get(name, 0) if isinstance(growth, dict) else 0
            sums[name] = max(0, (0 if line.get("rebuilt") else sums[name]) + (value if isinstance(value, int) else 0))
    return sums


def rejects(location: Path, most: int = MOST) -> list[dict[str, Any]]:
    """The first documents that the last run rejected: id, reason, remedy, source."""
    return list(islice(_lines(rejects_path(location)), most))


def rejects_path(location: Path) -> Path:
    """Where the reject file of an index is, unless its user names another."""
    return _beside(location, "rejects")


def _beside(location: Path, what: str) -> Path:
    return location.with_name(f"{location.name}.{what}.jsonl")


def _append(path: Path, line: dict[str, Any]) -> None:
    """One more line. In a folder from elsewhere a link at this place must not lead to another file, nor a pipe wait."""
    with suppress(OSError):
        if not os.path.lexists(path) or (path.is_file() and not path.is_symlink()):
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; what is no JSON object (a line that was cut off by a crash) is passed over."""
    if not path.is_file():  # whoever opens a pipe waits for somebody to write
        return
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, RecursionError):
                found = json.loads(line)
                if isinstance(found, dict):
                    yield found
