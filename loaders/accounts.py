"""Keeping count of a run: what became of each document, how much, how long."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

from sparc_search.errors import SparcSearchError
from sparc_search.records import Passage

from .encoding import CutJob
from .outcomes import IngestProgress, Kind, Outcome, Stopped, Summary

FIRST_PASSAGES = 5
REASONS = 100


class Accounts:
    """Counts that only grow; `read` is counted on arrival, the kinds when a document is finished with."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.read = 0
        self.kinds: Counter[str] = Counter()
        self.passages = self.tokens = self.words = 0
        self.reasons: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.first_passages: list[Passage] = []

    def ended(self, outcome: Outcome) -> Outcome:
        """Count an outcome, and hand it on."""
        self.kinds[outcome.kind] += 1
        if outcome.reason and (outcome.reason in self.reasons or len(self.reasons) < REASONS):
            self.reasons[outcome.reason] += 1
        return outcome

    def encoded(self, cut: CutJob) -> None:
        """Count what a document holds."""
        self.passages += len(cut.passages)
        self.tokens += sum(cut.lengths)
        self.words += len(cut.job.document.text.split())
        room = FIRST_PASSAGES - len(self.first_passages)
        self.first_passages += cut.passages[:room]

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - started

    def progress(self, bytes_read: int) -> IngestProgress:
        """How far it is."""
        seconds = time.perf_counter() - self._started
        return IngestProgress(self.read, self.kinds["rejected"], self.passages, self.tokens, bytes_read, seconds)

    def summary(self, stages: Mapping[str, float], growth: int | None, dry_run: bool, stopped: Stopped) -> Summary:
        """The account. One that does not add up is an error, not a footnote."""
        counts: dict[str, Any] = {kind: self.kinds[kind] for kind in get_args(Kind)}
        finished = sum(counts.values()) - counts["deleted"]
        if finished != self.read and not stopped:
            raise SparcSearchError(
                f"{self.read} documents were read but {finished} accounted for", "run it again and report this"
            )
        seconds = time.perf_counter() - self._started
        return Summary(
            read=self.read,
            **counts,
            unfinished=self.read - finished,
            passages=self.passages,
            tokens=self.tokens,
            words=self.words,
            tokens_per_second=round(self.tokens / seconds, 1) if seconds else 0.0,
            bytes_per_word=round(growth / self.words, 1) if growth and growth > 0 and self.words else None,
            seconds=round(seconds, 3),
            seconds_by_stage={stage: round(value, 3) for stage, value in {**self.seconds, **stages}.items()},
            reasons=dict(self.reasons),
            first_passages=tuple(self.first_passages) if dry_run else (),
            dry_run=dry_run,
            stopped=stopped,
        )
