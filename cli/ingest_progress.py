"""The live bar of `sparc-search ingest`: on stderr, and only if that is a terminal."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final

from .terminal import progress

if TYPE_CHECKING:
    from sparc_search.loaders.outcomes import Event
    from sparc_search.loaders.plan import Plan

_SHOWN: Final = "{task.fields[read]:,} documents  {task.fields[passages]:,} passages  {task.fields[rate]:,.0f} tokens/s"


class Bar:
    """Documents, passages, tokens a second, rejects; time left once all files have been counted."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        rejects = TextColumn("{task.fields[rejects]:,} rejects")
        self._progress = progress(TextColumn(_SHOWN), rejects, BarColumn(bar_width=20), TimeRemainingColumn())
        self._task = self._progress.add_task("", total=None, read=0, passages=0, rate=0.0, rejects=0)
        self._closed = threading.Event()

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        self._progress.stop()

    def update(self, event: Event) -> None:
        """Show how far it is."""
        from sparc_search.loaders.outcomes import IngestProgress
        from sparc_search.loaders.plan import Plan

        if isinstance(event, Plan) and not self._progress.disable:  # counting is only worth it if somebody looks
            threading.Thread(target=self._count, args=(event,), name="counter", daemon=True).start()
        if isinstance(event, IngestProgress):
            self._progress.update(
                self._task,
                completed=event.bytes_read,
                read=event.read,
                passages=event.passages,
                rate=event.tokens / event.seconds if event.seconds else 0.0,
                rejects=event.rejected,
            )

    def _count(self, plan: Plan) -> None:
        """Sum up the sizes of all files; what is no file has none, so then there is no time left to tell."""
        from sparc_search.loaders.walk import Found, walk

        total = 0
        for entry in walk(plan.roots, plan.filters) if plan.only is None else plan.only:
            if self._closed.is_set() or (isinstance(entry, Found) and entry.root.kind == "stdin"):
                return
            total += entry.size if isinstance(entry, Found) else 0
        self._progress.update(self._task, total=total or None)
