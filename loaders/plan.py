"""What an ingest is asked to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .limits import ChildLimits
from .patterns import Filters
from .walk import Found, Passed, Root


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be read, and how."""

    roots: Sequence[Root]
    filters: Filters = field(default_factory=Filters)
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    corpus: str = ""
    sync: bool = False
    dry_run: bool = False
    batch_tokens: int = 2048
    readers: int = 1
    """Files that are read at the same time; with more than one, the order of documents is not fixed."""
    max_rejects: int | None = None
    only: Sequence[Found | Passed] | None = None
    """These files instead of all that the roots hold."""
    limits: ChildLimits = field(default_factory=ChildLimits)
