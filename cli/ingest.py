"""`sparc-search ingest`: read files into an index."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import IndexNotFound, Interrupted, ReaderError, SparcSearchError, UsageError
from sparc_search.settings import Settings

from .options import settings_options
from .terminal import note, result_json

if TYPE_CHECKING:  # the pipeline imports numpy and more
    from sparc_search.encoder import Encoder
    from sparc_search.engine import Engine
    from sparc_search.loaders.outcomes import Event, Outcome, Summary
    from sparc_search.loaders.plan import Plan
    from sparc_search.loaders.rejects import RejectFile

    from .ingest_progress import Bar

_SHOWN_REJECTS = 5


@click.command()
@click.argument("path", nargs=-1)
@settings_options("index", "engine", "encoder", "model", "threads")
@click.option("--format", "format_", default="", metavar="NAME", help="Read every file with this reader (a plugin).")
@click.option("--id-field", default="", help="Field or column that holds the id.  [default: id, _id, docid, doc_id]")
@click.option("--text-field", default="", help="… the text.  [default: text, contents, content, body]")
@click.option("--title-field", default="", help="… the title.  [default: title]")
@click.option("--include", multiple=True, metavar="GLOB", help="Read only files like this. Repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out files or folders like this. Repeatable.")
@click.option("--corpus", default="", metavar="NAME", help="Put NAME/ before every id, and NAME in the metadata.")
@click.option("--dry-run", is_flag=True, help="Write nothing; count, and show the first passages.")
@click.option("--sync", is_flag=True, help="Delete documents from these paths that are no longer there.")
@click.option("--rebuild", is_flag=True, help="Build the index anew from these paths; the old one serves until then.")
@click.option("--rejects", type=click.Path(path_type=Path), help="Reject file.  [default: beside the index]")
@click.option("--retry-rejects", is_flag=True, help="Read again what the reject file names, and nothing else.")
@click.option("--max-rejects", type=click.IntRange(0), help="Stop when more are rejected.  [default: no limit]")
@click.option(
    "--batch-tokens",
    type=click.IntRange(1),
    default=2048,
    show_default=True,
    help="Word pieces that are encoded at once; more of them for a GPU.",
)
@click.option("--readers", type=click.IntRange(1), help="Files read at the same time.  [default: by processors]")
def ingest(settings: Settings, **arguments: Any) -> int:
    """Read files into an index.

    PATH is a file, a folder, a glob or `-` for standard input. Formats are told by the ending: txt, md, html, pdf,
    docx, jsonl, csv, tsv, json (SQuAD), parquet, xml (Wikipedia dump); the text ones and the dump also with .gz or
    .bz2. Run it again and only what is new or changed is encoded. One JSON summary goes to stdout: read = indexed +
    unchanged + rejected + skipped. Ctrl-C finishes the batch in flight; the same command then goes on from there.
    """
    from sparc_search.loaders.rejects import RejectFile
    from sparc_search.opening import open_encoder

    rejects_path = arguments["rejects"] or settings.index.with_name(settings.index.name + ".rejects.jsonl")
    plan = _plan(arguments, rejects_path)  # before the model is loaded: a wrong path should not take seconds
    encoder = open_encoder(settings)
    with _engine(settings, encoder, plan.dry_run, rebuild=arguments["rebuild"]) as engine:
        summary, kept = _run(plan, encoder, engine, RejectFile(rejects_path), retrying=arguments["retry_rejects"])
        if not plan.dry_run:
            _remember(settings, summary, arguments["path"])
        # Inside: a rebuild that was interrupted must not take the old index's place.
        return _conclude(summary, kept, nothing_is_fine=arguments["retry_rejects"])


def _remember(settings: Settings, summary: Summary, paths: Sequence[str]) -> None:
    """A line in the history of the index."""
    from sparc_search.inspection.ingests import note_ingest

    names = ("read", "indexed", "unchanged", "rejected", "skipped", "deleted", "passages", "stopped")
    note_ingest(settings.index, {name: getattr(summary, name) for name in names}, [str(path) for path in paths])


def _plan(arguments: dict[str, Any], rejects_path: Path) -> Plan:
    from sparc_search import plugins
    from sparc_search.loaders.patterns import Filters
    from sparc_search.loaders.plan import Plan
    from sparc_search.loaders.rejects import rejected_before
    from sparc_search.loaders.walk import roots

    retry = arguments["retry_rejects"]
    if retry and (arguments["path"] or arguments["sync"] or arguments["rebuild"]):
        raise UsageError(
            "--retry-rejects reads what was rejected, and nothing else", "leave out PATH, --sync and --rebuild"
        )
    if arguments["rebuild"] and arguments["dry_run"]:
        raise UsageError("--rebuild and --dry-run exclude each other", "leave out one of them")
    if arguments["format_"]:
        plugins.load("readers", arguments["format_"])  # an unknown name is said now
    named = {name: arguments[name.replace("-", "_")] for name in ("id-field", "text-field", "title-field")}
    return Plan(
        roots=[] if retry else roots(arguments["path"]),
        filters=Filters(arguments["include"], arguments["exclude"]),
        format=arguments["format_"],
        options={name: value for name, value in named.items() if value},
        corpus=arguments["corpus"],
        sync=arguments["sync"],
        dry_run=arguments["dry_run"],
        batch_tokens=arguments["batch_tokens"],
        readers=arguments["readers"] or max(1, min(4, (os.cpu_count() or 1) // 2)),
        max_rejects=arguments["max_rejects"],
        only=rejected_before(rejects_path) if retry else None,
    )


@contextmanager
def _engine(settings: Settings, encoder: Encoder, dry_run: bool, *, rebuild: bool) -> Iterator[Engine | None]:
    """The index, open for writing; for a dry run only for reading, and none at all if there is none yet."""
    from sparc_search.opening import open_engine, rebuild_engine

    if rebuild:
        with rebuild_engine(settings, encoder.fingerprint) as new:
            yield new
        return
    try:
        engine = open_engine(settings, encoder.fingerprint, writable=not dry_run)
    except IndexNotFound:
        if not dry_run:
            raise
        yield None
        return
    with engine:
        yield engine


def _run(
    plan: Plan, encoder: Encoder, engine: Engine | None, rejects: RejectFile, retrying: bool
) -> tuple[Summary, Path | None]:
    """The account of the run, and the reject file if there is one."""
    from sparc_search.loaders.pipeline import ingest as run_plan

    from .ingest_progress import Bar

    with _stop_on_signals() as stop, closing(run_plan(plan, encoder, engine, stop)) as events, Bar(plan) as bar:
        try:
            summary = _follow(events, bar, None if plan.dry_run else rejects, stop)
        except BaseException:
            rejects.abandon()
            raise
    if retrying and summary.stopped:
        rejects.abandon()  # the older file still names what was not tried
        kept: Path | None = rejects.path
    else:
        kept = None if plan.dry_run else rejects.finish()
    return summary, kept


def _follow(events: Iterator[Event], bar: Bar, rejects: RejectFile | None, stop: threading.Event) -> Summary:
    from sparc_search.loaders.outcomes import Outcome, Progress

    rejected, told = 0, False
    for event in events:
        if stop.is_set() and not told:
            note("finishing the batch in flight; press Ctrl-C again to stop at once")
            told = True
        if isinstance(event, Progress):
            bar.update(event)
        elif isinstance(event, Outcome):
            if event.kind == "rejected":
                _show_reject(event, rejected)
                rejected += 1
                if rejects:
                    rejects.add(event)
        else:
            return event
    raise AssertionError("an ingest ends with its summary")


def _show_reject(outcome: Outcome, shown: int) -> None:
    if shown < _SHOWN_REJECTS:
        note(f"rejected {outcome.source}: {outcome.reason}" + (f" ({outcome.remedy})" if outcome.remedy else ""))
    elif shown == _SHOWN_REJECTS:
        note("further rejects are not shown here")


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """The first Ctrl-C (or SIGTERM) asks to stop, the second does."""
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _conclude(summary: Summary, rejects: Path | None, nothing_is_fine: bool) -> int:
    """Print the summary; the exit code, or the error that it comes to."""
    shown = {field.name: getattr(summary, field.name) for field in fields(summary)}
    if not summary.dry_run:
        del shown["first_passages"]
    result_json({**shown, "rejects_file": rejects})
    where = f"the reasons are in {rejects}" if rejects else "the reasons are above"
    if summary.stopped == "interrupted":
        raise Interrupted(
            f"stopped; {summary.indexed:,} documents were indexed and are safe",
            "run the same command again: it goes on where it stopped",
        )
    if summary.stopped:
        raise SparcSearchError(f"stopped after {summary.rejected:,} rejects", f"{where}; correct them and run it again")
    if summary.read == summary.skipped and not summary.deleted and not nothing_is_fine:
        raise ReaderError(f"nothing to index: {_most(summary)}", "name other paths, or a --format")
    return 3 if summary.rejected else 0


def _most(summary: Summary) -> str:
    reasons = sorted(summary.reasons.items(), key=lambda pair: -pair[1])
    return "; ".join(f"{count} x {reason}" for reason, count in reasons[:3]) or "nothing was found"
