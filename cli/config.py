"""`sparc-search config`: the settings, where each came from, and which folders may set them."""

from __future__ import annotations

from pathlib import Path

import click

from sparc_search.errors import UsageError
from sparc_search.settings import FILE_NAME, read
from sparc_search.trust import digest

from .options import PATH, Group, common_of, json_option
from .terminal import note, print_table, result_json, styled


@click.group(cls=Group)
def config() -> None:
    """Show the settings and where they come from."""


@config.command()
@json_option
@click.pass_context
def show(context: click.Context, as_json: bool) -> None:
    """Print every setting with its value and its source; secrets are masked.

    Settings of plugins are listed after those of the core. A value that a folder's file may not set is marked as
    refused: `sparc-search config trust` allows it.
    """
    common = common_of(context)
    refused = {setting.name for setting in common.sources.refused(common.flags)}
    rows = [
        (value.key, value.shown, value.source + (" (refused: not trusted)" if value.key in refused else ""))
        for value in common.sources.unguarded(common.flags).values()
    ]
    if as_json:
        result_json({key: {"value": value, "source": source} for key, value, source in rows})
        return
    print_table(("setting", "value", "source"), [(key, value, styled(source, "dim")) for key, value, source in rows])


@config.command()
@click.argument("folder", type=PATH, default=Path())
@json_option
def trust(folder: Path, as_json: bool) -> None:
    """Let a folder's file decide about addresses, secrets, paths and plugins.

    FOLDER is the current one if none is named. Read its `sparc-search.toml` first: it says where your questions, texts
    and passwords go, and which code runs. What it decides is printed. A file that changes must be trusted again.
    """
    sources = read(folder=folder)
    if not sources.folder.digest:
        raise UsageError(f"there is no {sources.folder.path}", "name the folder that holds the file")
    names = {setting.name for setting in sources.asking()}
    values = [value for value in sources.unguarded().values() if value.key in names]
    sources.trusted().add(folder, sources.folder.digest)
    if as_json:
        result_json({"folder": folder.resolve(), "settings": {value.key: value.shown for value in values}})
        return
    note(f"Trusted: {sources.folder.path.resolve()}")
    print_table(("setting", "value"), [(value.key, value.shown) for value in values])


@config.command()
@click.argument("folder", type=PATH, default=Path())
@click.pass_context
def untrust(context: click.Context, folder: Path) -> None:
    """Trust a folder no longer.

    FOLDER is the current one if none is named.
    """
    trusted = common_of(context).sources.trusted()
    if not trusted.knows(folder):
        raise UsageError(f"{folder.resolve()} is not trusted", "`sparc-search config trusted` lists what is")
    trusted.remove(folder)
    note(f"No longer trusted: {folder.resolve()}")


@config.command()
@json_option
@click.pass_context
def trusted(context: click.Context, as_json: bool) -> None:
    """List the folders that are trusted, and what has become of their files since."""
    folders = common_of(context).sources.trusted().folders
    states = {folder: _state(Path(folder), hash) for folder, hash in folders.items()}
    result_json(states) if as_json else print_table(("folder", "file"), states.items())


def _state(folder: Path, hash: str) -> str:
    try:
        return "unchanged" if digest((folder / FILE_NAME).read_bytes()) == hash else "changed: trust it again"
    except OSError:
        return "not there"
