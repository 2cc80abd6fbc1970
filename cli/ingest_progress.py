"""The live bar of `sparc-search ingest`: on stderr, and only if that is a terminal.

What takes the time is encoding, so the bar counts word pieces: those of documents that are cut are known, those of
documents that are not are estimated from what was read so far.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final

from .terminal import counted, progress

if TYPE_CHECKING:
    from sparc_search.loaders.outcomes import Event, IngestProgress
    from sparc_search.loaders.plan import Plan

_ROOM_FOR_COUNTS: Final = 72
"""Columns from which on documents and passages are counted too."""


class Bar:
    """What is being done, how much of it is done, about how long it still takes."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TextColumn

        self._progress = progress(
            TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[said]}")
        )
        self._task = self._progress.add_task("loading the model", total=None, said="")
        self._forecast = Forecast()
        self._total_bytes = 0
        self._closed = threading.Event()

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Show nothing more."""
        self._closed.set()
        self._progress.stop()

    def update(self, event: Event) -> None:
        """Show how far it is."""
        from sparc_search.loaders.outcomes import IngestProgress
        from sparc_search.loaders.plan import Plan

        if isinstance(event, Plan):
            self._progress.update(self._task, description="reading")
            if not self._progress.disable:  # counting is only worth it if somebody looks
                threading.Thread(target=self._count, args=(event,), name="counter", daemon=True).start()
        if isinstance(event, IngestProgress):
            expected = expected_work(event, self._total_bytes)
            left = self._forecast.seconds_left(event, expected)
            forecast = time_left(left) if event.work and event.stage != "stopping" else ""
            said = [f"{event.tokens / expected:.0%}" if expected else "", forecast]
            if self._progress.console.width >= _ROOM_FOR_COUNTS:
                said += [counted(event.passages, "passage"), counted(event.rejected, "reject") * bool(event.rejected)]
            self._progress.update(
                self._task,
                description=event.stage,
                completed=event.tokens,
                total=expected or None,
                said=" · ".join(filter(None, said)),
            )

    def _count(self, plan: Plan) -> None:
        """Sum up the sizes of all files; what is no file has none, so then there is no end to tell."""
        from sparc_search.loaders.walk import Found, walk

        total = 0
        for entry in walk(plan.roots, plan.filters) if plan.only is None else plan.only:
            if self._closed.is_set() or (isinstance(entry, Found) and entry.root.kind == "stdin"):
                return
            total += entry.size if isinstance(entry, Found) else 0
        self._total_bytes = total


def expected_work(event: IngestProgress, total_bytes: int) -> int | None:
    """Word pieces that there will be: those of what was read, and as many more as there are bytes left to read."""
    if not event.work:
        return None
    if not event.reading:
        return event.work
    if not event.bytes_read or not total_bytes:
        return None
    return round(event.work * max(total_bytes / event.bytes_read, 1.0))


class Forecast:
    """How long it still takes, by the pace since the first word pieces came: those took the warming up besides."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)

    def seconds_left(self, event: IngestProgress, expected: int | None) -> float | None:
        """Seconds that are left; None while nothing is known of the pace or of the work."""
        if event.tokens > self._last[1]:
            self._last = event.seconds, event.tokens
            self._first = self._first or self._last
        if self._first is None or self._first == self._last or expected is None:
            return None
        (began, before), (at, tokens) = self._first, self._last
        pace = (tokens - before) / max(at - began, 1e-3)
        return max((expected - tokens) / pace - (event.seconds - at), 0.0)


def time_left(seconds: float | None) -> str:
    """Roughly, because that is how well it is known."""
    if seconds is None:
        return "estimating the time"
    if seconds < 10:
        return "a few seconds left"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"
