"""What an ingest is asked to do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .limits import ChildLimits
from .parts import Part
from .patterns import Filters
from .reading import Read
from .walk import Found, Passed, Root

BATCH_TOKENS: Final = 2048
"""Word pieces that are encoded at once, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be read, and how."""

    roots: Sequence[Root] = ()
    filters: Filters = field(default_factory=Filters)
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    corpus: str = ""
    sync: bool = False
    dry_run: bool = False
    batch_tokens: int = BATCH_TOKENS
    readers: int = 1
    """Files that are read at the same time; with more than one, the order of documents is not fixed."""
    max_rejects: int | None = None
    only: Sequence[Found | Passed] | None = None
    """These files instead of all that the roots hold."""
    touched: frozenset[str] | None = None
    """Only what stands at or below these paths, of what the roots hold: all else is as it was."""
    documents: Iterable[Read | Passed] | None = None
    """These documents, and no files at all. They are taken in the thread that runs the plan."""
    part: Part = field(default_factory=Part)
    """Only this part of what the files hold. All of them are read."""
    limits: ChildLimits = field(default_factory=ChildLimits)


def usual_readers() -> int:
    """How many files are read at the same time if nobody says so: most processors are for the encoder."""
    return max(1, min(4, (os.cpu_count() or 1) // 2))
