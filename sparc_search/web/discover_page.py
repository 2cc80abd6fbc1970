"""Discover: documents and passages in a table, filtered for and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.index import Index

from . import downloads, requests
from .api import discover_view
from .excerpt import marked
from .replies import page_response
from .state import state_of

KINDS = (("where", "is"), ("without", "is not"), ("features", "has"), ("without_features", "has not"))


async def page(request: Request) -> Response:
    """`GET /discover`."""
    state = state_of(request)
    wanted = requests.discover_of(request.query_params, state.parameters, strict=False)
    return await page_response(request, "discover.html", lambda: _view(state.index, wanted))


def _view(index: Index, wanted: requests.Discover) -> dict[str, Any]:
    listed = discover_view(index, wanted)
    rows = inspection.to_json(listed)[wanted.of]
    columns = downloads.columns_of(wanted)
    listing = wanted.listing
    return {
        "page": "discover",
        "wanted": wanted,
        "found": listed,
        "rows": [{"row": row, "cells": _cells(row, columns, listing.text)} for row in rows],
        "columns": columns,
        "choices": _choices(wanted, columns, listed.metadata),
        "filters": _filters(wanted),
        "suggestions": inspection.suggest(index, listing.text, k=8) if listing.text.strip() else None,
        "query": inspection.listing_query(listing),
        "previous": _moved(wanted, -listing.size) if listing.offset else "",
        "next": _moved(wanted, listing.size) if listed.more else "",
        "twin": wanted.twin(),
        "title": "Discover",
    }


def _cells(row: Mapping[str, Any], columns: Sequence[str], words: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Each cell of a row in pieces, the words that were looked for apart."""
    return [(column, marked(downloads.cell(row, column), words)) for column in columns]


def _choices(wanted: requests.Discover, columns: tuple[str, ...], metadata: Any) -> list[tuple[str, bool, str]]:
    """Each possible column: whether it is shown, and the address that shows or hides it."""
    usual = downloads.PASSAGE_COLUMNS if wanted.of == "passages" else downloads.DOCUMENT_COLUMNS
    possible = dict.fromkeys([*usual, *(downloads.META + key for key in metadata), *columns])
    made = []
    for name in possible:
        shown = name in columns
        others = tuple(other for other in columns if other != name)
        made.append((name, shown, wanted.page(columns=others if shown else (*columns, name))))
    return made


def _filters(wanted: requests.Discover) -> list[dict[str, str]]:
    """Each filter in words, and the address without it."""
    made = []
    for name, verb in KINDS:
        for key, value in getattr(wanted.listing, name):
            away = wanted.without_pair(name, (key, value))
            made.append({"key": key, "verb": verb, "value": value, "away": away, "kind": name})
    if wanted.listing.document_id:
        away = wanted.listing_page(document_id="")
        made.append(
            {"key": "document", "verb": "is", "value": wanted.listing.document_id, "away": away, "kind": "document"}
        )
    return made


def _moved(wanted: requests.Discover, step: int) -> str:
    offset = max(wanted.listing.offset + step, 0)
    return wanted.page(listing=replace(wanted.listing, offset=offset), open="")
