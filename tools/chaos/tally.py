"""What a campaign did, what came of it, and where the oracle was contradicted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

told_to_end: Final = threading.Event()
"""Set by a signal; the round under way comes to its end."""


@dataclass(slots=True)
class Tally:
    """Counts by kind and outcome. Safe to use from several threads."""

    title: str
    of: str = "requests"
    seconds: float = 3600
    """How long it may take, from now on."""
    """What is counted."""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What the system did not allow."""
    rounds: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _began: float = field(default_factory=time.monotonic)

    def is_over(self) -> bool:
        """Whether its time is up, or it was told to end."""
        return told_to_end.is_set() or time.monotonic() - self._began > self.seconds

    def add(self, kind: str, outcome: str) -> None:
        """One more of a kind."""
        with self._lock:
            self.counts[kind, outcome] += 1

    def contradict(self, what: str) -> None:
        """Something happened that must not."""
        with self._lock:
            self.contradictions.append(what)

    def text(self) -> str:
        """The counts as a table of Markdown, and every contradiction."""
        lines = [f"{self.title}: {self.rounds} rounds, {self.counts.total():,} {self.of}", ""]
        lines += ["| kind | outcome | times |", "|---|---|---|"]
        lines += [f"| {kind} | {outcome} | {times:,} |" for (kind, outcome), times in sorted(self.counts.items())]
        lines += ["", *self.notes, f"{len(self.contradictions)} contradictions", *self.contradictions[:50]]
        return "\n".join(lines) + "\n"
