"""Named moments of a write. Nothing happens at them; tests end the process there to see what is left on the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

NAMES: Final = (
    "documents written",  # in the transaction, before its commit
    "documents committed",
    "segment files written",  # not yet synced
    "segment files synced",  # not yet listed
    "segment listed",  # in the transaction, before its commit
    "segment committed",  # files it replaces are still there
    "old segments removed",
    "rebuilt beside",  # a re-encoded index is complete, the old one is still current
    "switched",
    "backup verified",  # not yet in its place
)


def _nothing(name: str) -> None:
    """What happens at a point: nothing."""


reached: Callable[[str], None] = _nothing


def reach(name: str) -> None:
    """Tell whoever listens that a point is reached."""
    reached(name)
