"""`sparc-search dashboards`: views for OpenSearch Dashboards, written to a file or posted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import SparcSearchError
from sparc_search.settings import Settings

from .options import FILE, Group, json_option, option, settings_options
from .terminal import note, result, result_json, stdout, styled

if TYPE_CHECKING:
    from sparc_search.inspection.dashboards_import import Imported


@click.group(cls=Group)
def dashboards() -> None:
    """Views for OpenSearch Dashboards.

    An index pattern, a saved search, and charts that read the n-gram weights from the passages themselves:
    Dashboards cannot chart fields of type `rank_features`.
    """


@dashboards.command()
@settings_options("index_name")
@click.option("--out", type=FILE, help="File to write.  [default: stdout]")
def export(settings: Settings, out: Path | None) -> None:
    """Write the saved objects as `.ndjson`, one a line.

    Import the file under Dashboards Management, Saved objects, or with `sparc-search dashboards import`.
    """
    from sparc_search.inspection.dashboards import as_ndjson, saved_objects

    objects = saved_objects(_server(settings)["index_name"])
    text = as_ndjson(objects)
    if out is None:
        result(text.removesuffix("\n"))
        return
    part = out.with_name(out.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, out)
    except OSError as error:
        raise SparcSearchError(f"cannot write {out}: {error.strerror}", "name another file with --out") from error
    note(f"{len(objects)} objects written to {out}")


@dashboards.command("import")
@settings_options("index_name", "user")
@option("--url", default="http://127.0.0.1:5601", help="Address of Dashboards.")
@option("--overwrite/--keep", default=True, help="Replace objects that are there already.")
@json_option
def import_(settings: Settings, url: str, overwrite: bool, as_json: bool) -> int:
    """Post the saved objects to a running Dashboards, and show what became of each.

    User, password, API key and certificates are those of the settings for the search server. Exit code 1 if an object
    was not imported.
    """
    from sparc_search.inspection.dashboards import as_ndjson, saved_objects
    from sparc_search.inspection.dashboards_import import import_objects
    from sparc_search.stores.opensearch.access import access_of

    server = _server(settings)
    objects = as_ndjson(saved_objects(server["index_name"]))
    done = import_objects(access_of({**server, "url": url}), objects, overwrite=overwrite)
    result_json(done) if as_json else _show(done, url)
    return 1 if done.failed else 0


def _server(settings: Settings) -> dict[str, Any]:
    """The settings of the search server behind Dashboards, whichever engine answers questions."""
    return settings.of_plugin("stores", "opensearch")


def _show(done: Imported, url: str) -> None:
    console = stdout()
    for failed in done.failed:
        name = failed.title or failed.id
        console.print(styled(f"not imported: {failed.kind} {name!r}: {failed.reason}", "red"))
    console.print(styled(f"{done.imported} objects imported into {url}"))
