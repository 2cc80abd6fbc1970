"""What a campaign did, what came of it, and where the oracle was contradicted."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Counts by kind and outcome. Safe to use from several threads."""

    title: str
    of: str = "requests"
    """What is counted."""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    rounds: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
        lines += ["", f"{len(self.contradictions)} contradictions", *self.contradictions[:50]]
        return "\n".join(lines) + "\n"
