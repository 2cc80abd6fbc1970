"""How a long measurement is followed: whoever runs one may hand in a watcher that shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..loaders.outcomes import Event


class Watcher:
    """Hears how a measurement goes on, and says nothing."""

    def note(self, text: str) -> None:
        """One line of news."""

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[], object]]:
        """Something is done `total` times; what this gives is called after each."""
        return nullcontext(lambda: None)

    def ingesting(self) -> AbstractContextManager[Callable[[Event], None]]:
        """A corpus is read; what this gives is called with every event."""
        return nullcontext(lambda event: None)


QUIET = Watcher()
