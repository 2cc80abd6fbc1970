"""CSV and TSV: one row is one document. With a header by its names, without one as `id, text, title` (DPR's order).

A header that names a text is followed; of any other, a row is lines of "column: value".
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedReader, RawIOBase
from itertools import chain
from typing import BinaryIO, Final, Literal, cast

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from . import fields
from .compressed import inner_name
from .decode import encoding_of, guessed, whole
from .formats import HEAD_BYTES
from .limits import LINE_BYTES, TEXT_BYTES
from .lines import Line, lines
from .resuming import Item, Resuming, located

_HEADERLESS: Final = ("id", "text", "title")
_NAME, _NAME_WORDS = 60, 6  # characters and words of the name of a column
_NUMBER: Final = re.compile(r"[\d.,:/ %€$+-]+")
_KNOWN: Final = frozenset((*fields.ID, *fields.TEXT, *fields.TITLE))


class CsvReader(Reader):
    """CSV and TSV: one row is one document, as its header says; other columns become metadata."""

    suffixes = (".csv", ".tsv")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each row; a bad row is one reject, and the next one is read."""
        return Resuming(_items(stream, source, options))


reader = CsvReader()


def _items(stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Item]:
    csv.field_size_limit(LINE_BYTES)  # the library's own limit is 128 KiB, shorter than many an article
    texts, extra = _texts(stream)
    try:
        first = next(texts, "")
        delimiter = _delimiter(source, first)
        first_row = next(csv.reader([first], delimiter=delimiter), [])
        names = _header(first_row, options)
        # Tables without a header (MS MARCO and its kin) do not quote: a quotation mark there is only that.
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if names or delimiter != "\t" else csv.QUOTE_NONE
        rows = csv.reader(texts if names else chain([first], texts), delimiter=delimiter, quoting=quoting)
        for number, row in enumerate(rows, start=1):
            if row:
                yield _item(row, number, names or _HEADERLESS, source, options, extra)
    except RejectedDocument as reject:  # rows cannot be told apart any more
        yield RejectedDocument(f"{reject.message}; the rest is not read", reject.remedy)
    except csv.Error as error:
        yield RejectedDocument(f"not a table: {error}; the rest is not read", "check the quotation marks")


def _texts(stream: BinaryIO) -> tuple[Iterator[str], dict[str, str]]:
    """The lines of the table, and its encoding as metadata, if that is not UTF-8."""
    buffered = stream if isinstance(stream, BufferedReader) else BufferedReader(cast(RawIOBase, stream), HEAD_BYTES)
    head = buffered.peek(HEAD_BYTES)
    if not encoding_of(head.rpartition(b"\n")[0] or head):
        return _checked(lines(buffered)), {}
    found = guessed(whole(buffered, TEXT_BYTES))
    return iter(found.text.splitlines(keepends=True)), found.metadata


def _checked(found: Iterator[Line]) -> Iterator[str]:
    for line in found:
        if line.problem:
            raise line.problem
        yield line.text


def _delimiter(source: str, first: str) -> str:
    if inner_name(source).lower().endswith(".tsv"):
        return "\t"
    return max((",", ";", "\t"), key=first.count)


def _header(row: Sequence[str], options: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the columns if the first row holds names, else nothing."""
    names = tuple(name.strip() for name in row)
    wanted = set(options.values()) | _KNOWN
    return names if wanted.intersection(names) or _are_names(names) else ()


def _are_names(names: Sequence[str]) -> bool:
    """Whether these are names of columns: few words each, all different, none of them a number."""
    short = all(name and len(name) <= _NAME and len(name.split()) <= _NAME_WORDS for name in names)
    return len(names) > 1 and short and len(set(names)) == len(names) and not any(map(_NUMBER.fullmatch, names))


def _item(
    row: Sequence[str],
    number: int,
    names: Sequence[str],
    source: str,
    options: Mapping[str, str],
    extra: Mapping[str, str],
) -> Item:
    if len(row) > len(names) or (len(row) < len(names) and names is not _HEADERLESS) or len(row) < 2 <= len(names):
        return RejectedDocument(
            f"row {number}: {len(row)} columns instead of {len(names)} ({', '.join(names)})",
            "check the row, or name the text column (--text-field); without a header it must be id, text, title",
        )
    record = dict(zip(names, row, strict=False))
    has_text = "text-field" in options or any(name in record for name in fields.TEXT)
    made = located(f"row {number}", fields.document if has_text else fields.listed, record, source, number, options)
    return replace(made, metadata={**made.metadata, **extra}) if extra and isinstance(made, Document) else made
