"""Feature: one n-gram across the index."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sparc_search.index import Index
from sparc_search.stored import Listing

from . import charts, requests
from .api import feature_view
from .parameters import Parameters, short, text
from .rendering import feature_path
from .replies import page_response
from .state import AppState, state_of

FIELD_TITLES = {
    "start": "Start",
    "end": "End",
    "lex": "Lexical",
}
FIELD_NOTES = {
    "start": "the most it weighs for a phrase that starts in a passage",
    "end": "the most it weighs for a phrase that ends there",
    "lex": "how often it stands there, saturated",
}


async def start(request: Request) -> Response:
    """`GET /features`: a box to look one up, and the most frequent ones."""
    state = state_of(request)
    name = Parameters(request.query_params, state.limits).one(text("name", state.limits), "").strip()
    if name:
        return RedirectResponse(feature_path(name), 303)
    return await page_response(request, "features.html", lambda: _start(state))


def _start(state: AppState) -> dict[str, Any]:
    overview = state.overview()
    return {"page": "feature", "overview": overview, "titles": FIELD_TITLES, "twin": "/api/index"}


async def page(request: Request) -> Response:
    """`GET /features/{name}`."""
    state = state_of(request)
    name = short("name", request.path_params["name"], state.limits)
    return await page_response(request, "feature.html", lambda: _view(state.index, name))


def _view(index: Index, name: str) -> dict[str, Any]:
    view = feature_view(index, name)
    fields = []
    for field in view.fields:
        histogram = charts.columns(field.statistics.edges, field.statistics.counts)
        only = requests.Discover(listing=Listing(features=((field.field, view.name),)))
        without = requests.Discover(listing=Listing(without_features=((field.field, view.name),)))
        fields.append({"field": field, "columns": histogram, "only": only.page(), "without": without.page()})
    return {
        "page": "feature",
        "view": view,
        "fields": fields,
        "titles": FIELD_TITLES,
        "notes": FIELD_NOTES,
        "twin": "/api" + feature_path(name),
        "title": view.name,
    }
