"""Which reader takes which file: by the user's word, by the ending of its name, and failing both by how it begins."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Final

from sparc_search import plugins
from sparc_search.errors import PluginError
from sparc_search.reader import Reader

from .compressed import inner_name
from .fields import has_text

HEAD_BYTES: Final = 1 << 16
"""How much of a file is looked at to tell what it is."""

_log = logging.getLogger(__name__)


class Formats:
    """The readers there are. With `only`, everything is read by the reader of that name."""

    def __init__(self, only: str = "") -> None:
        self._readers = {only: plugins.load("readers", only)} if only else _all_readers()
        self.only = only
        endings = [(suffix.lower(), name) for name, reader in self._readers.items() for suffix in reader.suffixes]
        self._endings = sorted(endings, key=lambda pair: -len(pair[0]))  # the longest ending decides

    def knows(self, name: str) -> bool:
        """Whether a file of this name would be read."""
        return bool(self.only or self._by_ending(name))

    def choose(self, name: str, head: Callable[[], bytes]) -> str:
        """The name of the reader for a file of this name; its beginning is only asked for if it is needed."""
        if self.only:
            return self.only
        chosen = self._by_ending(name)
        return _json_kind(head()) if chosen == "json" else chosen

    def is_page(self, name: str) -> bool:
        """Whether a file of this name is a page that may share its furniture with others."""
        chosen = self.only or self._by_ending(name)
        return bool(chosen) and self._readers[chosen].furnished

    def reader(self, name: str) -> Reader:
        """The reader of this name."""
        return self._readers[name]

    def _by_ending(self, name: str) -> str:
        inner = inner_name(name).lower()
        return next((reader for suffix, reader in self._endings if inner.endswith(suffix)), "")


def by_content(head: bytes) -> str:
    """The kind of a file without a name (standard input), by how it begins."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    for beginning, name in _BEGINNINGS.items():
        if start.startswith(beginning):
            return name
    return _json_kind(head) if start.startswith((b"{", b"[")) else "text"


def _all_readers() -> dict[str, Reader]:
    """Every reader that loads; a broken plugin must not keep the others from reading."""
    readers = {}
    for name in plugins.names("readers"):
        try:
            readers[name] = plugins.load("readers", name)
        except PluginError as error:
            _log.warning("%s", error)
    return readers


def _json_kind(head: bytes) -> str:
    """Many collections call their JSON Lines `.json`: then the first line is an object, and has a text or a second."""
    line, _, rest = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "json"
    is_line = isinstance(value, dict) and "data" not in value and (rest.strip() or has_text(value, {}))
    return "jsonl" if is_line else "json"


_BEGINNINGS: Final[Mapping[bytes, str]] = {
    b"%pdf": "pdf",
    b"pk\x03\x04": "docx",
    b"par1": "parquet",
    b"{\\rtf": "rtf",
    b"<!doctype html": "html",
    b"<html": "html",
    b"<mediawiki": "wikipedia",
    b"id\ttext": "csv",
}
