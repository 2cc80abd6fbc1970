"""Every row of a listing as a file, written while it is read: page by page, never all at once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sparc_search import inspection
from sparc_search.inspection.csv_text import harmless

from . import requests
from .api import discover_view
from .replies import cut_long
from .state import AppState, state_of

PAGE: Final = 200
PASSAGE_COLUMNS: Final = ("title", "text", "source", "page", "number", "id", "document_id")
DOCUMENT_COLUMNS: Final = ("title", "source", "passages", "id")
META: Final = "metadata."
"""A column of this prefix is a key of the metadata."""


async def as_csv(request: Request) -> Response:
    """`GET /api/discover/download.csv`: the columns of the page, or those of the parameters."""
    state, wanted = await _asked(request)
    columns = columns_of(wanted)
    first = await _rows(state, wanted, 0)  # before the first byte goes out, so that an error is an error

    async def lines() -> AsyncIterator[str]:
        yield _line(columns)
        async for row in _all(state, wanted, first):
            yield _line([cell(row, column) for column in columns])

    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=_named(wanted, "csv"))


async def as_json(request: Request) -> Response:
    """`GET /api/discover/download.json`: a list of the same rows, each with its id."""
    state, wanted = await _asked(request)
    columns = dict.fromkeys(("id", *columns_of(wanted)))
    first = await _rows(state, wanted, 0)

    async def pieces() -> AsyncIterator[str]:
        before = "["
        async for row in _all(state, wanted, first):
            yield before + json.dumps({column: value(row, column) for column in columns}, allow_nan=False)
            before = ",\n"
        yield "]\n" if before != "[" else "[]\n"

    return StreamingResponse(pieces(), media_type="application/json", headers=_named(wanted, "json"))


def columns_of(wanted: requests.Discover) -> tuple[str, ...]:
    """The columns that are shown: those that were chosen, or the usual ones; and the weights of features."""
    usual = ("title", "text") if wanted.of == "passages" else ("title", "source", "passages")
    possible = PASSAGE_COLUMNS if wanted.of == "passages" else DOCUMENT_COLUMNS
    chosen = tuple(name for name in wanted.columns if name in possible or name.startswith(META))
    weights = wanted.listing.weighed if wanted.of == "passages" else ()
    return (*(chosen or usual), *(f"{one.field}:{one.value}" for one in weights))


def value(row: Mapping[str, Any], column: str) -> Any:
    """What one cell holds."""
    if column.startswith(META):
        return row["metadata"].get(column.removeprefix(META))
    return row["weights"].get(column) if column in row.get("weights", ()) else row.get(column)


def cell(row: Mapping[str, Any], column: str) -> str:
    """The text of one cell."""
    held = value(row, column)
    return "" if held is None else f"{held:.6g}" if isinstance(held, float) else str(held)


def rows_of(wanted: requests.Discover, listed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a page, those of passages with their weights by column."""
    rows: list[dict[str, Any]] = listed[wanted.of]
    names = [":".join(pair) for pair in listed.get("weighed", ())]
    for row, weights in zip(rows, listed.get("weights", ()), strict=False):
        row["weights"] = dict(zip(names, weights, strict=True))
    return rows


async def _asked(request: Request) -> tuple[AppState, requests.Discover]:
    state = state_of(request)
    wanted = requests.discover_of(request.query_params, state.parameters, strict=True)
    return state, await state.run(lambda: requests.resolved(state.index, wanted, strict=True))


async def _rows(state: AppState, wanted: requests.Discover, offset: int) -> list[dict[str, Any]]:
    page = replace(wanted, listing=replace(wanted.listing, offset=offset, size=PAGE))
    listed = await state.run(lambda: inspection.to_json(discover_view(state.index, page)))
    rows: list[dict[str, Any]] = cut_long(rows_of(wanted, listed), state.limits.string)
    return rows


async def _all(
    state: AppState, wanted: requests.Discover, first: list[dict[str, Any]]
) -> AsyncIterator[dict[str, Any]]:
    rows, offset = first, 0
    while rows and offset < state.limits.download:
        for row in rows:
            yield row
        offset += PAGE
        rows = await _rows(state, wanted, offset) if len(rows) == PAGE else []


def _line(cells: Iterable[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(map(harmless, cells))
    return buffer.getvalue()


def _named(wanted: requests.Discover, form: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{wanted.of}.{form}"'}
