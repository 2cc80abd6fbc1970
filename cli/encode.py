"""`sparc-search encode`: a part of a corpus into a file, on one machine of many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparc_search.settings import Settings

from .ingest import as_plain, conclude, file_options, stop_on_signals
from .options import FILE, json_option, option, settings_options
from .terminal import counted, note, result, result_json


@click.command()
@click.argument("path", nargs=-1, required=True)
@settings_options("encoder", "model", "threads")
@option("--part", default="1/1", metavar="N/M", help="Take only the Nth of M parts of the documents.")
@click.option("--out", required=True, type=FILE, help="File to write, such as part-3.sparc.")
@file_options
@json_option
def encode(settings: Settings, path: tuple[str, ...], out: Path, as_json: bool, **options: Any) -> int:
    """Encode files for an index elsewhere.

    PATH is what `ingest` takes. Which part a document is in follows from its id alone, so that machines that see the
    same files need not talk to each other; `sparc-search index import part-*.sparc` puts the parts into an index, and
    encodes nothing. A run that is stopped leaves a folder beside the file, and the same command goes on from there.
    """
    from sparc_search.index import Index

    from .ingest_progress import Bar

    with stop_on_signals() as stop, Bar() as bar:
        summary = Index.encode(*path, out=out, settings=settings, on_event=bar.update, stop=stop, **options)
    if summary is None:
        note(f"nothing to do: {out} is there (remove it to encode it again)")
        return 0
    code = conclude(summary, nothing_is_fine=True)
    if as_json:
        result_json(as_plain(summary))
    else:
        result(
            f"{counted(summary.indexed + summary.unchanged, 'document')} encoded into {out}, {summary.seconds:.1f} s"
        )
    return code
