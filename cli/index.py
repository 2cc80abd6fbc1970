"""`sparc-search index`: look after an index."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.engine import Admin, Engine, View, supports
from sparc_search.errors import IndexFailure
from sparc_search.settings import Settings
from sparc_search.stored import CheckReport, Problem

from .options import json_option, settings_options
from .terminal import note, progress, result, result_json, stdout, styled

if TYPE_CHECKING:
    from .index_documents import Moved


@click.group()
def index() -> None:
    """Look after an index."""


@contextmanager
def _opened(settings: Settings, *, writable: bool) -> Iterator[Engine]:
    """The index, whichever encoder it was made with."""
    from sparc_search.opening import open_engine

    with open_engine(settings, writable=writable) as engine:
        yield engine


# --- stats -----------------------------------------------------------------------------------------------------------


@index.command()
@settings_options("index", "engine")
@json_option
def stats(settings: Settings, as_json: bool) -> None:
    """Show what an index holds and how much room it takes."""
    with _opened(settings, writable=False) as engine:
        facts = engine.admin().describe()
    if as_json:
        result_json(facts)
        return
    for name, value in _flat(facts):
        result(f"{name:<34} {value}")


def _flat(facts: Any, before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}: ")
        elif isinstance(value, list):
            yield before + name, ", ".join(map(_shown, value)) or "none"
        else:
            yield before + name, _shown(value)


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-" if value is None else str(value)


# --- verify ----------------------------------------------------------------------------------------------------------


@index.command()
@settings_options("index", "engine", "encoder", "model", "threads")
@click.option("--repair", is_flag=True, help="Make damaged derived files again from the database.")
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Passages to encode again and compare with what is stored; 0 needs no model.",
)
@json_option
def verify(settings: Settings, repair: bool, sample: int, as_json: bool) -> int:
    """Check an index: sums, counts, every block, posting and vector.

    A sample of passages is encoded again: tokens and terms must be the same, vectors may differ by two steps of their
    int8 grid, and one in fifty of the kept positions may be another. Exit code 1 if anything is wrong, and with
    --repair if anything still is.
    """
    with _opened(settings, writable=repair) as engine:
        report = _verified(engine, settings)
        repaired = _repaired(engine, settings, report) if repair else []
        left = _verified(engine, settings) if repaired else report
        problems = (*left.problems, *(() if left.problems else _sample(engine, sample, settings)))
    _show_report(left, problems, repaired, as_json)
    return 1 if problems else 0


def _verified(engine: Engine, settings: Settings) -> CheckReport:
    """The index, and what was derived from it on this machine."""
    from sparc_search.opening import derived_vectors

    report = engine.admin().verify()
    with closing(derived_vectors(settings, engine)) as vectors:
        return CheckReport(report.counts, (*report.problems, *vectors.verify()))


def _repaired(engine: Engine, settings: Settings, report: CheckReport) -> list[str]:
    from sparc_search.opening import derived_vectors
    from sparc_search.stores.derived import VECTORS

    own = tuple(problem for problem in report.problems if problem.derived != VECTORS)
    names = engine.admin().repair(CheckReport(report.counts, own))
    if len(own) < len(report.problems):
        with closing(derived_vectors(settings, engine)) as vectors:
            vectors.repair()
        names.append(VECTORS)
    return names


def _sample(engine: Engine, count: int, settings: Settings) -> list[Problem]:
    """Passages, evenly spread, that the model does not encode as they are stored."""
    with engine.view() as view:
        if not count or not (supports(view, View.sample) or supports(view, View.matching)):
            return []
        from sparc_search.opening import open_encoder
        from sparc_search.stores.sample import compare

        encoder = open_encoder(settings)
        if engine.encoder != encoder.fingerprint:
            other = f"the index was made with the model {engine.encoder}, this is {encoder.fingerprint}"
            note(f"no sample was encoded: {other}")
            return []
        return compare(view.fetch(view.sample(count)).passages, encoder)


def _show_report(report: CheckReport, problems: Iterable[Problem], repaired: list[str], as_json: bool) -> None:
    found = list(problems)
    if as_json:
        listed = [{"where": p.where, "what": p.what, "repairable": bool(p.derived)} for p in found]
        result_json({"ok": not found, **report.counts, "problems": listed, "repaired": repaired})
        return
    console = stdout()
    for name in repaired:
        console.print(styled(f"made again: segment {name}", "yellow"))
    for problem in found:
        console.print(styled(f"{problem.where}: {problem.what}", "red"))
    if any(problem.derived for problem in found):
        note("`sparc-search index verify --repair` makes the damaged files again")
    if not found:
        counts = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
        console.print(styled(f"all is well: {counts}", "green"))


# --- compact, delete -------------------------------------------------------------------------------------------------


@index.command()
@settings_options("index", "engine")
@json_option
def compact(settings: Settings, as_json: bool) -> None:
    """Put the pieces of an index together and give back the room of what was deleted."""
    with _opened(settings, writable=True) as engine:
        admin = engine.admin()
        before = _size(admin)
        admin.compact()
        after = _size(admin)
    if as_json:
        result_json({"bytes before": before, "bytes after": after})
    else:
        result(f"{before:,} bytes before, {after:,} after")


def _size(admin: Admin) -> int:
    return admin.size_in_bytes() if supports(admin, Admin.size_in_bytes) else 0


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
    with _opened(settings, writable=True) as engine:
        count = engine.writer().delete(ids)
        if purge:
            engine.admin().compact()
    if as_json:
        result_json({"deleted": count, "not there": len(set(ids)) - count, "purged": purge})
    else:
        result(f"{count} deleted, {len(set(ids)) - count} not there")
    return 0 if count or not ids else 1


# --- export, import, reencode ----------------------------------------------------------------------------------------


@index.command("export")
@settings_options("index", "engine")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write (.gz: compressed).  [default: -]")
@click.option("--encoded", is_flag=True, help="With phrase blocks, so that `index import` encodes nothing again.")
def export(settings: Settings, output: Path | None, encoded: bool) -> None:
    """Write all documents as JSON lines: text, passages, and the weight of every n-gram and term."""
    from sparc_search.stores.exchange import Header, export_lines

    with _opened(settings, writable=False) as engine, engine.view() as view:
        lines = export_lines(view.documents(), Header(engine.encoder, encoded))
        if output is None or str(output) == "-":
            for line in lines:
                sys.stdout.write(line + "\n")
        else:
            from .index_documents import write_lines

            write_lines(output, lines)


@index.command("import")
@click.argument("file", type=click.Path(path_type=str, allow_dash=True))
@settings_options("index", "engine", "encoder", "model", "threads")
@json_option
def import_(settings: Settings, file: str, as_json: bool) -> None:
    """Add the documents of an export to an index; `-` reads standard input.

    An export with phrase blocks is taken over as it is, and makes an index for the model it was encoded with. Any
    other is encoded with the model of this run. Documents that are there already and have not changed are left alone.
    """
    from sparc_search.opening import open_encoder, open_engine
    from sparc_search.stores.exchange import read_header, read_line

    from .index_documents import encode_and_move, lines_from, move_encoded

    with closing(lines_from(file)) as lines:
        header = read_header(next(lines, ""))
        documents = (read_line(line, header, number) for number, line in enumerate(lines, 2) if line.strip())
        if header.encoded:
            with open_engine(settings, header.encoder, writable=True) as engine:
                moved = _followed("importing", move_encoded(documents, engine))
        else:
            encoder = open_encoder(settings)
            with open_engine(settings, encoder.fingerprint, writable=True) as engine:
                moved = _followed("encoding", encode_and_move((one.document for one in documents), encoder, engine))
    _show_moved(moved, as_json)


@index.command()
@settings_options("index", "engine", "encoder", "model", "threads")
@json_option
def reencode(settings: Settings, as_json: bool) -> None:
    """Encode all documents of an index with another model.

    The stored text is cut and encoded anew beside the old index, which serves until the new one takes its place, in
    one step. If it is stopped, the same command goes on where it was.
    """
    from sparc_search.opening import open_encoder, rebuild_engine

    from .index_documents import encode_and_move

    encoder = open_encoder(settings)
    with _opened(settings, writable=False) as engine:
        if engine.encoder == encoder.fingerprint:
            raise IndexFailure(f"the index at {settings.index} is of this model already", "name another with --model")
        with rebuild_engine(settings, encoder.fingerprint) as new, engine.view() as view:
            documents = (one.document for one in view.documents())
            moved = _followed("encoding", encode_and_move(documents, encoder, new))
    _show_moved(moved, as_json)


@index.command()
@settings_options("index", "engine")
@json_option
def rollback(settings: Settings, as_json: bool) -> None:
    """Serve the version before the last rebuild again, in one step.

    Doing it twice leads back to where it began. Only an engine that keeps the version before can do this.
    """
    with _opened(settings, writable=True) as engine:
        version = engine.admin().rollback()
    if as_json:
        result_json({"version": version})
    else:
        result(f"serving {version}")


def _followed(name: str, steps: Iterator[Moved]) -> Moved | None:
    """Run to the end, with a count on the terminal."""
    moved = None
    with progress() as bar:
        task = bar.add_task(name, total=None)
        for moved in steps:
            bar.update(task, completed=moved.documents + moved.unchanged)
    return moved


def _show_moved(moved: Moved | None, as_json: bool) -> None:
    documents, passages, unchanged = (moved.documents, moved.passages, moved.unchanged) if moved else (0, 0, 0)
    if as_json:
        result_json({"documents": documents, "passages": passages, "unchanged": unchanged})
    else:
        result(f"{documents:,} documents with {passages:,} passages, {unchanged:,} unchanged")
