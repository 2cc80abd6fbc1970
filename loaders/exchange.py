"""Exports as files: their lines written, read, and turned into documents for the pipeline."""

from __future__ import annotations

import gzip
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, TextIO, cast

from sparc_search.errors import UsageError
from sparc_search.stores.exchange import Header, read_header, read_line

from .reading import Read
from .walk import Root

_COMPRESSED: Final = (".gz", ".sparc")


def read_export(lines: Iterator[str]) -> tuple[Header, Iterator[Read]]:
    """What the lines of an export say of themselves, and their documents."""
    header = read_header(next(lines, ""))
    return header, _documents(lines, header)


def _documents(lines: Iterator[str], header: Header) -> Iterator[Read]:
    for number, line in enumerate(lines, start=2):
        if line.strip():
            stored = read_line(line, header, number)
            yield Read(stored.document, Root("index"), stored if header.encoded else None)


def lines_of(source: str | Path | Iterable[str]) -> Generator[str, None, None]:
    """The lines of a file, of a gzip file, or of whatever gives lines."""
    if not isinstance(source, str | Path):
        yield from source
        return
    path = Path(source).expanduser()
    try:
        with _text(path, "rt", compressed=path.suffix in _COMPRESSED) as stream:
            yield from stream
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", "name a file that `sparc-search index export` made") from error


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, or to a gzip file; a file that is there already is replaced when all is written."""
    path = path.expanduser()
    draft = path.with_name(path.name + ".part")
    try:
        with _text(draft, "wt", compressed=path.suffix in _COMPRESSED) as stream:
            stream.writelines(line + "\n" for line in lines)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _text(path: Path, mode: Literal["rt", "wt"], *, compressed: bool) -> TextIO:
    if not compressed:
        return path.open(mode, encoding="utf-8")
    return cast(TextIO, gzip.open(path, mode, compresslevel=4, encoding="utf-8"))
