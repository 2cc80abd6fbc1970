"""The reject file: one JSON line for each document that could not be indexed, with the reason, and how to retry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from sparc_search.errors import ReaderError

from .outcomes import Outcome
from .walk import Found, Passed, Root, again

_KINDS = {"folder", "file", "glob", "stdin"}


class RejectFile:
    """Written beside its final place and put there by `finish`, so that an older one stays until then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + ".part")
        self._file: IO[str] | None = None

    def add(self, outcome: Outcome) -> None:
        """Write one reject; it is in the file when this returns."""
        if self._file is None:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            self._part.unlink(missing_ok=True)  # it may be a link, in a folder from elsewhere
            self._file = self._part.open("w", encoding="utf-8", buffering=1)
        self._file.write(json.dumps(_line(outcome)) + "\n")

    def finish(self) -> Path | None:
        """Take the older file's place, or remove it if nothing was rejected; where the file is, if there is one."""
        if self._file is None:
            self.path.unlink(missing_ok=True)
            return None
        self._file.close()
        os.replace(self._part, self.path)
        return self.path

    def abandon(self) -> None:
        """Leave the older file as it is."""
        if self._file:
            self._file.close()
            self._part.unlink(missing_ok=True)


def rejected_before(path: Path) -> list[Found | Passed]:
    """The files that a reject file names, to be read again."""
    sources = dict.fromkeys(_sources(path))  # each of them once, in their order
    return [entry for source, root in sources for entry in again(root, source)]


def _line(outcome: Outcome) -> dict[str, str]:
    return {
        "id": outcome.document_id,
        "reason": outcome.reason,
        "remedy": outcome.remedy,
        "source": outcome.source,
        "root": outcome.root,
        "root_kind": outcome.root_kind,
    }


def _sources(path: Path) -> Iterator[tuple[str, Root]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                yield _source(text, number, path)
    except FileNotFoundError:
        raise ReaderError(f"there is no reject file {path}", "if there is one, name it with --rejects") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReaderError(f"cannot read the reject file {path}: {error}", "name another with --rejects") from error


def _source(text: str, number: int, path: Path) -> tuple[str, Root]:
    try:
        line: Any = json.loads(text)
        kind, source, root = line["root_kind"], line["source"], line["root"]
        if kind in _KINDS and isinstance(source, str) and isinstance(root, str):
            return source, Root(kind, root)
    except (ValueError, KeyError, TypeError):
        pass
    raise ReaderError(f"line {number} of {path} is not that of a reject file", "name another with --rejects")
