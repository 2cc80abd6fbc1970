"""CSV and TSV: one row is one document. With a header by its names, without one as `id, text, title` (DPR's order)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import BinaryIO, Final, Literal

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from . import fields
from .compressed import inner_name
from .limits import LINE_BYTES
from .lines import lines
from .resuming import Item, Resuming, located

_HEADERLESS: Final = ("id", "text", "title")
_KNOWN: Final = frozenset((*fields.ID, *fields.TEXT, *fields.TITLE))


class CsvReader(Reader):
    """CSV and TSV: one row is one document (DPR style `id, text, title`); other columns become metadata."""

    suffixes = (".csv", ".tsv")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each row; a bad row is one reject, and the next one is read."""
        return Resuming(_items(stream, source, options))


reader = CsvReader()


def _items(stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Item]:
    csv.field_size_limit(LINE_BYTES)  # the library's own limit is 128 KiB, shorter than many an article
    texts = _texts(stream)
    try:
        first = next(texts, "")
        delimiter = _delimiter(source, first)
        names = _header(next(csv.reader([first], delimiter=delimiter), []), options)
        # Tables without a header (MS MARCO and its kin) do not quote: a quotation mark there is only that.
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if names or delimiter != "\t" else csv.QUOTE_NONE
        rows = csv.reader(texts if names else chain([first], texts), delimiter=delimiter, quoting=quoting)
        for number, row in enumerate(rows, start=1):
            if row:
                yield _item(row, number, names or _HEADERLESS, source, options)
    except RejectedDocument as reject:  # rows cannot be told apart any more
        yield RejectedDocument(f"{reject.message}; the rest is not read", reject.remedy)
    except csv.Error as error:
        yield RejectedDocument(f"not a table: {error}; the rest is not read", "check the quotation marks")


def _texts(stream: BinaryIO) -> Iterator[str]:
    for line in lines(stream):
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
    return names if wanted.intersection(names) else ()


def _item(row: Sequence[str], number: int, names: Sequence[str], source: str, options: Mapping[str, str]) -> Item:
    if len(row) > len(names) or (len(row) < len(names) and names is not _HEADERLESS) or len(row) < 2 <= len(names):
        return RejectedDocument(
            f"row {number}: {len(row)} columns instead of {len(names)} ({', '.join(names)})",
            "check the row, or name the text column (--text-field); without a header it must be id, text, title",
        )
    record = dict(zip(names, row, strict=False))
    return located(f"row {number}", fields.document, record, source, number, options)
