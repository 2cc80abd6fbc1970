"""Keeping count of a run: what became of each document, how much, how long."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, get_args

from sparc_search.errors import SparcSearchError
from sparc_search.records import Passage
from sparc_search.source_lines import ENCODING

from .encoding import CutJob
from .language import language_of
from .outcomes import REMOVED, IngestProgress, Kind, Outcome, Stopped, Summary

FIRST_PASSAGES = 5
REASONS = 100
FIRST_LEFT_OUT = 10


class LeftOut:
    """Furniture that was not indexed."""

    def __init__(self) -> None:
        self.count = self.words = 0
        self._texts: Counter[str] = Counter()

    def update(self, texts: Sequence[str]) -> None:
        """Count some."""
        self.count += len(texts)
        for text in texts:
            words = text.split()
            self.words += len(words)
            shown = " ".join(words)[:80]
            if shown in self._texts or len(self._texts) < REASONS:
                self._texts[shown] += 1

    def less(self, other: LeftOut) -> dict[str, int]:
        """How much more this is than another."""
        return {"blocks": self.count - other.count, "words": self.words - other.words}

    def commonest(self) -> tuple[str, ...]:
        """The beginnings of what was left out most often."""
        return tuple(text for text, _ in self._texts.most_common(FIRST_LEFT_OUT))


class Accounts:
    """Counts that only grow; `read` is counted on arrival, the kinds when a document is finished with."""

    def __init__(self, language: str = "") -> None:
        self._language = language  # of the model; empty if it does not say
        self._started = time.perf_counter()
        self.read = 0
        self.kinds: Counter[str] = Counter()
        self.passages = self.tokens = self.words = 0
        self.reasons: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.first_passages: list[Passage] = []
        self.left_out = LeftOut()
        self.left_out_before = LeftOut()
        """Of documents that were in the index and are replaced or deleted."""
        self.gone = 0
        self.encodings: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()

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
        self.left_out.update(cut.job.left_out)
        if encoding := cut.job.document.metadata.get(ENCODING):
            self.encodings[encoding] += 1
        language = language_of(cut.job.document.text) if self._language else ""
        if language not in ("", self._language):
            self.languages[language] += 1

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - started

    def progress(self, **more: Any) -> IngestProgress:
        """How far it is; `more` is what others know."""
        seconds = time.perf_counter() - self._started
        return IngestProgress(self.read, self.kinds["rejected"], self.passages, seconds=seconds, **more)

    def summary(self, stages: Mapping[str, float], growth: int | None, dry_run: bool, stopped: Stopped) -> Summary:
        """The account. One that does not add up is an error, not a footnote."""
        counts: dict[str, Any] = {kind: self.kinds[kind] for kind in get_args(Kind)}
        finished = sum(count for kind, count in counts.items() if kind not in REMOVED)
        if finished != self.read and not stopped:
            raise SparcSearchError(
                f"{self.read} documents were read but {finished} accounted for", "run it again and report this"
            )
        seconds = time.perf_counter() - self._started
        return Summary(
            read=self.read,
            **counts,
            gone=self.gone,
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
            encodings=dict(self.encodings.most_common(REASONS)),
            languages=dict(self.languages.most_common()),
            left_out=self.left_out.count,
            left_out_words=self.left_out.words,
            left_out_growth=self.left_out.less(self.left_out_before),
            first_left_out=self.left_out.commonest() if dry_run else (),
            stopped=stopped,
        )
