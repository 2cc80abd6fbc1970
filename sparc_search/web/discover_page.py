"""Discover: documents and passages in a table, what they have in common beside it, and a box to narrow them down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.index import Index
from sparc_search.inspection import PassagesPage
from sparc_search.inspection.grammar import Term, text_of
from sparc_search.stored import METADATA

from . import charts, downloads, requests
from .api import discover_view
from .excerpt import marked
from .feature_page import FIELD_WORDS
from .replies import page_response
from .state import state_of

ORDERED: Final = {"source": "source", "document_id": "document", "page": "page"}
"""Columns that rows can be ordered by, and the name of that order; columns of weights besides."""

_HEAVIEST: Final = "heaviest of the rows shown, counted in all"
LONGEST: Final = 200
"""Characters of a value that can be chosen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that rows have in common, how many have it, and the addresses of those with and without it."""

    label: str
    count: int
    only: str
    without: str
    chosen: bool


async def page(request: Request) -> Response:
    """`GET /discover`."""
    state = state_of(request)
    wanted = requests.discover_of(request.query_params, state.parameters, strict=False)
    return await page_response(request, "discover.html", lambda: _view(state.index, wanted))


def _view(index: Index, wanted: requests.Discover) -> dict[str, Any]:
    wanted = requests.resolved(index, wanted, strict=False)
    listed = discover_view(index, wanted)
    columns, listing = downloads.columns_of(wanted), wanted.listing
    words = " ".join(term.condition.value for term in wanted.terms if _are_words(term))
    return {
        "page": "discover",
        "wanted": wanted,
        "found": listed,
        "empty": not index.engine.statistics().passages,
        "rows": [
            {"row": row, "cells": _cells(row, columns, words)}
            for row in downloads.rows_of(wanted, inspection.to_json(listed))
        ],
        "columns": [(name, _ordered(wanted, name)) for name in columns],
        "choices": _choices(wanted, columns, listed.metadata),
        "pills": [(term, wanted.leaving(term)) for term in wanted.terms],
        "groups": _groups(wanted, listed),
        "brush": _brush(wanted, listed),
        "glossary": FIELD_WORDS,
        "query": inspection.listing_query(listing),
        "previous": _moved(wanted, -listing.size) if listing.offset else "",
        "next": _moved(wanted, listing.size) if listed.more else "",
        "twin": wanted.twin(),
        "title": "Discover",
    }


def _are_words(term: Term) -> bool:
    return term.condition.field in ("", "text", "title") and not term.condition.negated


def _cells(row: Mapping[str, Any], columns: Sequence[str], words: str) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Each cell of a row in pieces, the words that were looked for apart."""
    shown = {name: f"{weight:.3f}" for name, weight in row.get("weights", {}).items()}
    return [
        (name, [(shown[name], False)] if name in shown else marked(downloads.cell(row, name), words))
        for name in columns
    ]


def _ordered(wanted: requests.Discover, column: str) -> tuple[str, str]:
    """The address that orders by a column (empty if nothing can), and the present direction."""
    first = wanted.listing.weighed[0] if wanted.listing.weighed else None
    name = "weight" if first and column == f"{first.field}:{first.value}" else ORDERED.get(column, "")
    if not name or wanted.of != "passages":
        return "", ""
    direction = {name: "ascending", f"-{name}": "descending"}.get(wanted.listing.order, "none")
    return wanted.ordered(name), direction


def _choices(wanted: requests.Discover, columns: Sequence[str], metadata: Any) -> list[tuple[str, bool, str]]:
    """Each possible column: whether it is shown, and the address that shows or hides it."""
    usual = downloads.PASSAGE_COLUMNS if wanted.of == "passages" else downloads.DOCUMENT_COLUMNS
    weights = [f"{one.field}:{one.value}" for one in wanted.listing.weighed]
    shown = tuple(column for column in columns if column not in weights)
    made = []
    for name in dict.fromkeys([*usual, *(downloads.META + key for key in metadata), *shown]):
        others = tuple(other for other in shown if other != name)
        made.append((name, name in shown, wanted.page(columns=others if name in shown else (*shown, name))))
    return made


def _groups(wanted: requests.Discover, listed: Any) -> list[tuple[str, str, list[Choice]]]:
    """The sidebar: name, what its numbers count, and what there is to choose."""
    groups = [
        (key, "passages", _choices_of(wanted, METADATA + key, values))
        for key, values in listed.metadata.items()
        if len(key) <= LONGEST
    ]
    if listed.folders:
        groups.append(("folder", "passages", _choices_of(wanted, "folder", listed.folders)))
    if isinstance(listed, PassagesPage):
        groups += [
            (field, _HEAVIEST, _choices_of(wanted, field, [(one.text, one.passages) for one in found]))
            for field, found in listed.ngrams.items()
            if found
        ]
    return groups


def _choices_of(wanted: requests.Discover, field: str, pairs: Iterable[tuple[str, int]]) -> list[Choice]:
    """What there is to choose; a value too long to be read is no choice."""
    return [_choice(wanted, field, value, count) for value, count in pairs if len(value) <= LONGEST]


def _choice(wanted: requests.Discover, field: str, value: str, count: int) -> Choice:
    chosen = any((term.condition.field, term.condition.value) == (field, value) for term in wanted.terms)
    only, without = wanted.adding(field, value), wanted.adding(field, value, negated=True)
    return Choice(value, count, only, without, chosen)


def _brush(wanted: requests.Discover, listed: Any) -> dict[str, Any] | None:
    """The histogram of the first feature's weights; a column of it leads to those that weigh at least so much."""
    spread = getattr(listed, "spread", None)
    if not spread or not spread.passages:
        return None
    feature = wanted.listing.weighed[0]
    same = (feature.field, feature.value)
    others = tuple(term for term in wanted.terms if (term.condition.field, term.condition.value) != same)
    own = [term.condition for term in wanted.terms if (term.condition.field, term.condition.value) == same]
    least = max((condition.least for condition in own), default=0.0)
    below = min((condition.below for condition in own if condition.below is not None), default=float("inf"))
    bars = charts.columns(spread.edges, spread.counts)
    return {
        "feature": feature,
        "name": str(Term(feature)),
        "others": text_of(others),
        "spread": spread,
        "bars": [
            (bar, bar.last > least and bar.first < below, _at_least(wanted, others, feature, bar)) for bar in bars
        ],
    }


def _at_least(wanted: requests.Discover, others: tuple[Term, ...], feature: Any, bar: charts.HistogramColumn) -> str:
    limited = Term(replace(feature, least=round(bar.first, 4)))
    return wanted.page(terms=(*others, limited), listing=replace(wanted.listing, offset=0), open="")


def _moved(wanted: requests.Discover, step: int) -> str:
    offset = max(wanted.listing.offset + step, 0)
    return wanted.page(listing=replace(wanted.listing, offset=offset), open="")
