"""Rows of a view as CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable, Mapping

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(rows: Iterable[object]) -> str:
    """Dataclasses or mappings, all of one kind, as CSV with a heading; an empty text for no rows.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, row in enumerate(map(_cells, rows)):
        if not number:
            writer.writerow(row)
        writer.writerow(map(_cell, row.values()))
    return stream.getvalue()


def harmless(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cells(row: object) -> Mapping[str, object]:
    if dataclasses.is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    assert isinstance(row, Mapping)
    return row


def _cell(value: object) -> object:
    if isinstance(value, tuple | list):
        value = " ".join(map(str, value))
    if isinstance(value, Mapping):
        value = "; ".join(f"{key}={inner}" for key, inner in value.items())
    if isinstance(value, str):
        return harmless(value)
    return "" if value is None else value
