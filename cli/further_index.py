"""A second index to put beside the first: `[NAME=]FOLDER`, and `@MODEL` behind it if another model made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sparc_search.settings import Settings

if TYPE_CHECKING:
    from sparc_search.index import Index


def named(given: str) -> tuple[str, Path, str]:
    """Name, folder and model; the last is empty if it is the first index's."""
    from sparc_search.mcp.indexes import named_folder

    place, at, model = given.rpartition("@")
    if not at or not Path(model).expanduser().is_dir():
        return *named_folder(given), ""
    return *named_folder(place), model


def opened(settings: Settings, given: str) -> tuple[str, Index]:
    """The index, ready to be asked, and its name."""
    from sparc_search.index import Index

    name, folder, model = named(given)
    index = Index.open(settings=settings.changed(index=folder, **({"model": model} if model else {})))
    try:
        index.prepare()
    except BaseException:
        index.close()
        raise
    return name, index
