"""Rows of a view as CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable, Mapping
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(rows: Iterable[object]) -> str:
    """Dataclasses or mappings, all of one kind, as CSV with a heading; an empty text for no rows.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    stream = io.StringIO()
    writer = None
    for row in rows:
        cells = _cells(row)
        if writer is None:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(cells)
        writer.writerow([_cell(value) for value in cells.values()])
    return stream.getvalue()


def _cells(row: object) -> dict[str, Any]:
    if dataclasses.is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    assert isinstance(row, Mapping)
    return dict(row)


def _cell(value: object) -> object:
    if isinstance(value, tuple | list):
        value = " ".join(map(str, value))
    if isinstance(value, Mapping):
        value = "; ".join(f"{key}={own}" for key, own in value.items())
    if isinstance(value, str):
        return "'" + value if value.startswith(_FORMULA) else value
    return "" if value is None else value
