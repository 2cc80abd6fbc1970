"""`sparc-search ingest`: read files into an index."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from sparc_search.errors import Interrupted, ReaderError, SparcSearchError
from sparc_search.settings import Settings

from .options import PATH, Function, json_option, option, settings_options
from .terminal import note, result_json

if TYPE_CHECKING:  # the pipeline imports numpy and more
    from sparc_search.loaders.outcomes import Event, Outcome, Summary

_SHOWN_REJECTS = 5


FILE_OPTIONS: Final = (
    click.option("--format", default="", metavar="NAME", help="Read every file with this reader (a plugin)."),
    click.option(
        "--id-field", default="", help="Field or column that holds the id.  [default: id, _id, docid, doc_id]"
    ),
    click.option(
        "--text-field",
        default="",
        help="Field or column that holds the text.  [default: text, contents, content, body]",
    ),
    click.option("--title-field", default="", help="Field or column that holds the title.  [default: title]"),
    click.option("--include", multiple=True, metavar="GLOB", help="Read only files like this. Repeatable."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out files or folders like this. Repeatable."),
    click.option("--no-ignore", is_flag=True, help="Read what .gitignore names, node_modules and build folders, too."),
    click.option("--corpus", default="", metavar="NAME", help="Put NAME/ before every id, and NAME in the metadata."),
    click.option("--max-rejects", type=click.IntRange(0), help="Stop when more are rejected.  [default: no limit]"),
    option(
        "--batch-tokens",
        type=click.IntRange(1),
        default=2048,
        help="Word pieces that are encoded at once; more of them for a GPU.",
    ),
    click.option("--readers", type=click.IntRange(1), help="Files read at the same time.  [default: by processors]"),
)
"""How files are read (`loaders.planning.FileOptions`)."""


def file_options(function: Function) -> Function:
    """The options of a command that reads files."""
    for decorate in reversed(FILE_OPTIONS):
        function = decorate(function)
    return function


@click.command()
@click.argument("path", nargs=-1)
@settings_options("index", "engine", "encoder", "model", "threads")
@file_options
@click.option("--dry-run", is_flag=True, help="Write nothing; count, and show the first passages.")
@click.option("--sync", is_flag=True, help="Delete documents from these paths that are no longer there.")
@click.option("--watch", is_flag=True, help="Go on with whatever changes there (as with --sync), until Ctrl-C.")
@click.option("--rebuild", is_flag=True, help="Build the index anew from these paths; the old one serves until then.")
@click.option("--rejects", type=PATH, help="Reject file.  [default: beside the index]")
@click.option("--retry-rejects", is_flag=True, help="Read again what the reject file names, and nothing else.")
@json_option
def ingest(settings: Settings, path: tuple[str, ...], as_json: bool, watch: bool, **options: Any) -> int:
    """Read files into an index.

    PATH is a file, a folder, a glob or `-` for standard input. Formats are told by the ending: txt, md, rst, tex, html,
    pdf, rtf, docx, odt, pptx, xlsx, epub, eml, mbox, ipynb, srt, vtt, json, jsonl, csv, tsv, parquet, xml (Wikipedia
    dump), source code; the text ones and the dump also with .gz or .bz2. Run it again and only what is new or changed
    is encoded. A summary goes to stdout, with --json as data: read = indexed + unchanged + rejected + skipped. Ctrl-C
    finishes the batch in flight, a second one stops at once; the same command then goes on from there.
    """
    from sparc_search.index import Index

    from .ingest_progress import Bar
    from .ingest_summary import Rejects, show_summary
    from .ingest_watch import follow

    if watch:
        return follow(settings, path, options, as_json=as_json)
    counted = Rejects()

    with Index(settings) as index, stop_on_signals() as stop, Bar() as bar:
        rejects = _Rejects(stop, shown=as_json)  # the summary for people names them

        def tell(event: Event) -> None:
            bar.update(event)
            rejects.update(event)
            counted.update(event)

        summary = index.ingest(*path, on_event=tell, stop=stop, **options)
    if as_json:
        result_json(as_plain(summary))
    else:
        show_summary(summary, counted, settings)
    return conclude(summary, nothing_is_fine=options["retry_rejects"])


class _Rejects:
    """Says what is rejected, the first few times, and what a first Ctrl-C does."""

    def __init__(self, stop: threading.Event, *, shown: bool) -> None:
        self._stop, self._shown, self._told, self._count = stop, shown, False, 0

    def update(self, event: Event) -> None:
        """Look at what happened."""
        from sparc_search.loaders.outcomes import Outcome

        if self._stop.is_set() and not self._told:
            note("finishing the batch in flight; press Ctrl-C again to stop at once")
            self._told = True
        if self._shown and isinstance(event, Outcome) and event.kind == "rejected":
            if self._count < _SHOWN_REJECTS:
                show_reject(event)
            elif self._count == _SHOWN_REJECTS:
                note("further rejects are not shown here")
            self._count += 1


def show_reject(outcome: Outcome) -> None:
    """One line about a document that was rejected."""
    what = outcome.source or outcome.document_id
    note(f"rejected {what}: {outcome.reason}" + (f" ({outcome.remedy})" if outcome.remedy else ""))


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """The first Ctrl-C (or SIGTERM) asks to stop, the second does."""
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            _leave()
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave() -> None:
    """End the process now: the encoder cannot be interrupted, and what is written is safe whenever it ends."""
    clear = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else "\n"
    text = f"{clear}Error: Interrupted\n  what was indexed is safe; the same command goes on from there\n"
    os.write(2, text.encode())  # past the bar, which would draw itself once more below
    os._exit(Interrupted.exit_code)


def as_plain(summary: Summary) -> dict[str, object]:
    """A summary as `--json` shows it."""
    shown = {field.name: getattr(summary, field.name) for field in fields(summary)}
    if not summary.dry_run:
        del shown["first_passages"], shown["first_left_out"]
    return shown


def conclude(summary: Summary, nothing_is_fine: bool) -> int:
    """The exit code, or the error that a summary comes to."""
    where = f"the reasons are in {summary.rejects_file}" if summary.rejects_file else "the reasons are above"
    if summary.stopped == "interrupted":
        raise Interrupted(
            f"stopped; {summary.indexed:,} documents were indexed and are safe",
            "run the same command again: it goes on where it stopped",
        )
    if summary.stopped:
        raise SparcSearchError(f"stopped after {summary.rejected:,} rejects", f"{where}; correct them and run it again")
    if summary.found_nothing and not nothing_is_fine:
        raise ReaderError(f"nothing to index: {_most(summary)}", "name other paths, or a --format")
    return 3 if summary.rejected else 0


def _most(summary: Summary) -> str:
    reasons = sorted(summary.reasons.items(), key=lambda pair: -pair[1])
    return "; ".join(f"{count} x {reason}" for reason, count in reasons[:3]) or "nothing was found"
