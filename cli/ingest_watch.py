"""Following folders from the command line: `ingest --watch`, `serve --watch`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sparc_search.errors import SparcSearchError, UsageError
from sparc_search.settings import Settings

from .terminal import counted, note, result, result_json

if TYPE_CHECKING:
    from sparc_search.index import Index
    from sparc_search.loaders.outcomes import Event, Summary

_KINDS: Final = ("renamed", "deleted", "rejected")
_NOT_WITH: Final = ("rebuild", "dry_run", "retry_rejects", "rejects")


def follow(settings: Settings, paths: tuple[str, ...], options: dict[str, Any], *, as_json: bool) -> int:
    """Bring an index up to date with some paths, and keep it so until Ctrl-C."""
    from sparc_search.index import Index

    from .ingest import as_plain, stop_on_signals
    from .ingest_progress import Bar
    from .ingest_summary import Rejects, show_summary

    for name in _NOT_WITH:
        if options.pop(name, None):
            raise UsageError(f"--watch and --{name.replace('_', '-')} exclude each other", "leave out one of them")
    options.pop("sync", None)  # to follow is to delete as well
    bar, rejects = Bar(), Rejects()
    following = False

    def tell(event: Event) -> None:
        bar.update(event)
        rejects.update(event)
        if following:  # of the first run the summary names them
            _tell_reject(event)

    with Index(settings) as index, stop_on_signals() as stop, bar:
        for number, summary in enumerate(index.watch(*paths, stop=stop, on_event=tell, on_error=_say, **options)):
            bar.close()
            if as_json:
                result_json(as_plain(summary), indent=None)
            elif number:
                result(_line(summary))
            else:
                show_summary(summary, rejects, settings)
            sys.stdout.flush()  # whoever reads it through a pipe need not wait for the next batch
            following = True
            if not number:
                note("Following what changes (Ctrl-C stops)")
    note("Stopped.")
    return 0


@contextmanager
def followed(index: Index | None, folders: tuple[str, ...]) -> Iterator[None]:
    """Meanwhile the index follows some folders, if there are any, in a thread of its own."""
    if index is None or not folders:
        yield
        return
    stop = threading.Event()

    def run() -> None:
        try:
            for summary in index.watch(*folders, stop=stop, on_event=_tell_reject, on_error=_say):
                note(_line(summary))
        except SparcSearchError as error:
            note(f"Error: {error}; nothing is followed any more")

    thread = threading.Thread(target=run, name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _tell_reject(event: Event) -> None:
    from sparc_search.loaders.outcomes import Outcome

    from .ingest import show_reject

    if isinstance(event, Outcome) and event.kind == "rejected":
        show_reject(event)


def _say(error: SparcSearchError) -> None:
    note(f"Error: {error}; tried again with the next change")


def _line(summary: Summary) -> str:
    """A batch on one line."""
    others = [f"{getattr(summary, kind):,} {kind}" for kind in _KINDS if getattr(summary, kind)]
    return ", ".join([f"{datetime.now():%H:%M:%S} {counted(summary.indexed, 'document')} indexed", *others])
