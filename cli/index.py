"""`sparc-search index`: look after an index."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.settings import Settings

from .options import PATH, Group, json_option, open_index, option, settings_options
from .terminal import counted, note, progress, result, result_json, stdout, styled

if TYPE_CHECKING:  # opening an index imports numpy and more
    from sparc_search.loaders.outcomes import Event, Report
    from sparc_search.loaders.running import Listener
    from sparc_search.stores.verification import Verification


@click.group(cls=Group)
def index() -> None:
    """Look after an index."""


# --- stats -----------------------------------------------------------------------------------------------------------


@index.command()
@settings_options("index", "engine")
@json_option
def stats(settings: Settings, as_json: bool) -> None:
    """Show what an index holds and how much room it takes."""
    with open_index(settings) as opened:
        facts = opened.stats()
    if as_json:
        result_json(facts)
        return
    lines = list(_flat(facts))
    names = max(len(name) for name, _ in lines)
    width = stdout().width
    for name, value in lines:  # a number is not to be broken where the terminal ends
        fits = names + 1 + len(value) <= width
        result(f"{name:<{names}} {value}" if fits else f"{name}\n  {value}")


def _flat(facts: Any, before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name.replace('_', ' ')}: ")
        elif isinstance(value, list):
            yield before + name, _listed(value) if name == "segments" else ", ".join(map(_shown, value)) or "none"
        else:
            yield before + name, _shown(value)


def _listed(segments: list[int]) -> str:
    """How many segments, and of how many passages each."""
    return f"{len(segments)}" + (f" (passages: {', '.join(map(_shown, segments))})" if segments else "")


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-" if value is None else str(value)


# --- verify ----------------------------------------------------------------------------------------------------------


@index.command()
@settings_options("index", "engine", "encoder", "model", "threads")
@click.option(
    "--repair",
    is_flag=True,
    help="Make again what is damaged: derived files from the database, passages from the stored texts.",
)
@option(
    "--sample",
    type=click.IntRange(0),
    default=20,
    help="Passages to encode again and compare with what is stored; 0 needs no model.",
)
@json_option
def verify(settings: Settings, repair: bool, sample: int, as_json: bool) -> int:
    """Check an index: sums, counts, every block, posting and vector.

    A sample of passages is encoded again: tokens and terms must be the same, vectors may differ by two steps of their
    int8 grid, and one in fifty of the kept positions may be another. Exit code 1 if anything is wrong, and with
    --repair if anything still is.
    """
    with open_index(settings) as opened:
        verification = opened.verify(repair=repair, sample=sample)
    if verification.not_sampled:
        note(f"no sample was encoded: {verification.not_sampled}")
    _show_verification(verification, as_json)
    return 0 if verification.ok else 1


def _show_verification(checked: Verification, as_json: bool) -> None:
    if as_json:
        problems = [
            {"where": problem.where, "what": problem.what, "repairable": bool(problem.derived or problem.document)}
            for problem in checked.problems
        ]
        result_json({"ok": checked.ok, **checked.counts, "problems": problems, "repaired": checked.repaired})
        return
    console = stdout()
    for name in checked.repaired:
        console.print(styled(f"made again: segment {name}" if name.isdigit() else f"made again: {name}", "yellow"))
    for problem in checked.problems:
        console.print(styled(f"{problem.where}: {problem.what}", "red"))
    if any(problem.derived or problem.document for problem in checked.problems):
        note("`sparc-search index verify --repair` makes again what is damaged")
    if checked.ok:
        counts = ", ".join(counted(count, name.removesuffix("s")) for name, count in checked.counts.items())
        console.print(styled(f"all is well: {counts}", "green"))


# --- compact, delete -------------------------------------------------------------------------------------------------


@index.command()
@settings_options("index", "engine")
@json_option
def compact(settings: Settings, as_json: bool) -> None:
    """Put the pieces of an index together and give back the room of what was deleted."""
    with open_index(settings) as opened:
        before, after = opened.compact()
    sizes = {"bytes before": before, "bytes after": after}
    result_json(sizes) if as_json else result(f"{before:,} bytes before, {after:,} after")


@index.command()
@click.argument("document", nargs=-1, required=True)
@settings_options("index", "engine")
@click.option("--purge", is_flag=True, help="Rewrite the files too, so that no byte of the documents is left in them.")
@json_option
def delete(settings: Settings, document: tuple[str, ...], purge: bool, as_json: bool) -> int:
    """Delete documents by their ids; `-` reads ids from standard input, one a line.

    Exit code 1 if none of them was there.
    """
    ids = [line.rstrip("\r\n") for line in sys.stdin] if document == ("-",) else list(document)
    with open_index(settings) as opened:
        count = opened.delete(ids, purge=purge)
    absent = len(set(ids)) - count
    about = {"deleted": count, "not there": absent, "purged": purge}
    result_json(about) if as_json else result(f"{count} deleted, {absent} not there")
    return 0 if count or not ids else 1


# --- backup, restore -------------------------------------------------------------------------------------------------


@index.command()
@click.argument("target", type=PATH)
@settings_options("index", "engine")
@json_option
def backup(settings: Settings, target: Path, as_json: bool) -> None:
    """Copy the index to a new folder, or to a new file that ends in .tar or .tar.gz; on a server, to REPOSITORY/NAME.

    Others may ask and ingest meanwhile: what is committed when it begins is copied. The copy is verified, row by row,
    before it gets its name.
    """
    with open_index(settings) as opened:
        facts = opened.backup(target)
    about = (
        f"{facts['documents']:,} documents, {facts['passages']:,} passages, {facts['bytes'] / 1e6:,.1f} MB, verified"
    )
    result_json({"backup": str(target), **facts}) if as_json else result(f"{target}: {about}")


@index.command()
@click.argument("source", type=PATH)
@click.option("--replace", is_flag=True, help="Replace the index that is there.")
@settings_options("index", "engine")
@json_option
def restore(settings: Settings, source: Path, replace: bool, as_json: bool) -> None:
    """Make a backup the index.

    Its sums are checked before anything is changed. An index that is there serves until the backup takes its place, in
    one step; then it is gone.
    """
    from sparc_search.index import Index

    with Index.restore(source, settings=settings, replace=replace) as opened:
        facts = opened.stats()
    about = {"index": str(settings.index), **{name: facts[name] for name in ("documents", "passages", "generation")}}
    shown = f"{settings.index}: {facts['documents']:,} documents, {facts['passages']:,} passages"
    result_json(about) if as_json else result(shown)


# --- export, import, reencode, upgrade -------------------------------------------------------------------------------


@index.command("export")
@settings_options("index", "engine")
@click.option("--output", "-o", type=PATH, help="File to write (.gz: compressed).  [default: -]")
@click.option("--encoded", is_flag=True, help="With phrase blocks, so that `index import` encodes nothing again.")
def export(settings: Settings, output: Path | None, encoded: bool) -> None:
    """Write all documents as JSON lines: text, passages, and the weight of every n-gram and term."""
    with open_index(settings) as opened:
        opened.export(sys.stdout if output is None or str(output) == "-" else output, encoded=encoded)


@index.command("import")
@click.argument("file", nargs=-1, required=True, type=click.Path(path_type=str, allow_dash=True))
@settings_options("index", "engine", "encoder", "model", "threads")
@json_option
def import_(settings: Settings, file: tuple[str, ...], as_json: bool) -> int:
    """Add the documents of exports, or of what `encode` made, to an index; `-` reads standard input.

    An export with phrase blocks is taken over as it is, and makes an index for the model it was encoded with. Any
    other is encoded with the model of this run. Documents that are there already and have not changed are left alone.
    """
    from sparc_search.index import Index

    with Index(settings) as opened, _counting("importing") as count:
        reports = [opened.import_(sys.stdin if name == "-" else name, on_event=count) for name in file]
    return _show_report(reduce(add, reports), as_json)


@index.command()
@settings_options("index", "engine", "encoder", "model", "threads")
@json_option
def reencode(settings: Settings, as_json: bool) -> int:
    """Encode all documents of an index with another model.

    The stored text is cut and encoded anew beside the old index, which serves until the new one takes its place, in
    one step. If it is stopped, the same command goes on where it was. If there is nothing to do it says so.
    """
    with open_index(settings) as opened, _counting("encoding") as count:
        report = opened.reencode(on_event=count)
    if report is None and not as_json:
        result(f"nothing to do: the index at {settings.index} is of this model already (--model names another)")
        return 0
    return _show_report(report, as_json)


@index.command()
@settings_options("index", "engine", "encoder", "model", "threads")
@json_option
def upgrade(settings: Settings, as_json: bool) -> int:
    """Bring an index of an older version, or of another model, up to date.

    An index of the version before is copied, and nothing is encoded. Any other is cut and encoded anew from its stored
    texts. Both happen beside it, offline; it serves until the new index takes its place, in one step. If it is stopped,
    run the same command again. If there is nothing to do it says so.
    """
    with open_index(settings) as opened, _counting("encoding") as count:
        report = opened.upgrade(on_event=count)
    if report is None and not as_json:
        result(f"nothing to do: the index at {settings.index} is of this format and model")
        return 0
    return _show_report(report, as_json)


@index.command()
@settings_options("index", "engine")
@json_option
def rollback(settings: Settings, as_json: bool) -> None:
    """Serve the version before the last rebuild again, in one step.

    Doing it twice leads back to where it began. Only an engine that keeps the version before can do this.
    """
    with open_index(settings) as opened:
        version = opened.rollback()
    result_json({"version": version}) if as_json else result(f"serving {version}")


@contextmanager
def _counting(name: str) -> Iterator[Listener]:
    """A count of documents on the terminal."""
    from sparc_search.loaders.outcomes import IngestProgress

    with progress() as bar:
        task = bar.add_task(name, total=None)

        def count(event: Event) -> None:
            if isinstance(event, IngestProgress):
                bar.update(task, completed=event.read)

        yield count


def _show_report(report: Report | None, as_json: bool) -> int:
    """Print what became of documents; the exit code."""
    from sparc_search.loaders.outcomes import Report

    from .ingest import show_reject

    report = report or Report()
    for outcome in report.rejects:
        show_reject(outcome)
    rejected = {"rejected": report.rejected} if report.rejected else {}
    if as_json:
        counts = {"documents": report.indexed, "passages": report.passages, "unchanged": report.unchanged}
        result_json({**counts, **rejected})
    else:
        more = f", {report.rejected:,} rejected" if rejected else ""
        documents = counted(report.indexed, "document")
        result(f"{documents} with {counted(report.passages, 'passage')}, {report.unchanged:,} unchanged{more}")
    return 3 if rejected else 0
