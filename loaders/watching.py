"""Following folders: the paths that have changed there, a batch at a time, until somebody says stop."""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from sparc_search.errors import MissingExtra, ReaderError, UsageError

from .walk import STDIN, Root, printable, roots

_LOOK: Final = 200  # milliseconds after which somebody looks whether to stop
_IGNORED: Final = ".gitignore"


def batches(paths: Sequence[str], stop: threading.Event, index: Path) -> Iterator[frozenset[str] | None]:
    """What has changed below the paths; first None, for everything, as soon as nothing that changes can be missed.

    Hidden files are nobody's business, and the index, if it is below the paths, least of all.
    """
    try:
        from watchfiles import watch
    except ImportError as error:
        raise MissingExtra("following folders", "watch") from error

    places = [_place(path) for path in paths]
    own = os.path.abspath(index)

    def counts(_: object, path: str) -> bool:
        return not path.startswith(own) and any(_is_visible(path, place) for place in places)

    first = True
    try:
        for changes in watch(*places, watch_filter=counts, stop_event=stop, rust_timeout=_LOOK, yield_on_timeout=True):
            changed = frozenset(_touched(path, places) for _, path in changes)
            if first or changed:
                yield None if first else changed
            first = False
    except (OSError, RuntimeError) as error:
        remedy = "allow more watches (fs.inotify.max_user_watches), or set WATCHFILES_FORCE_POLLING=1"
        raise ReaderError(f"cannot follow {', '.join(map(printable, places))}: {error}", remedy) from error


def _place(path: str) -> str:
    """The folder or file to watch for a path; of a glob, the folder that all its files are in."""
    if path == STDIN:
        raise UsageError("standard input cannot be followed", "name files or folders")
    absolute = os.path.realpath(os.path.expanduser(path))
    if os.path.exists(absolute):
        return absolute
    if glob.has_magic(path):
        return os.path.realpath(os.path.dirname(Root("glob", os.path.abspath(path)).prefix))
    return roots([path])[0].path  # says what is wrong


def _is_visible(path: str, place: str) -> bool:
    below = os.path.relpath(path, place)
    parts = [] if below == "." else below.split(os.sep)
    return ".." not in parts and not any(part.startswith(".") and part != _IGNORED for part in parts)


def _touched(path: str, places: Sequence[str]) -> str:
    """A change of .gitignore is one of its folder."""
    return os.path.dirname(path) if os.path.basename(path) == _IGNORED and path not in places else path


def within(path: str, touched: frozenset[str]) -> bool:
    """Whether a path, or a folder that it is in, is among those that were touched."""
    path = os.path.join(_real(os.path.dirname(path)), os.path.basename(path))
    while path not in touched:
        if path == (path := os.path.dirname(path)):
            return False
    return True


@lru_cache(maxsize=1024)
def _real(folder: str) -> str:
    """The same for all files of a folder, and asked for each of them."""
    return os.path.realpath(folder)
