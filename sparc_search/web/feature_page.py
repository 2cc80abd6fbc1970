"""Feature: one n-gram across the index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sparc_search.errors import UsageError
from sparc_search.index import Index, cleaned
from sparc_search.inspection import TopPassage
from sparc_search.inspection.grammar import readable
from sparc_search.records import FIELDS

from . import charts, requests
from .api import feature_view
from .excerpt import around
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
FIELD_WORDS = {
    "start": "the most that an n-gram weighs for any phrase that starts in a passage",
    "end": "the same for the phrases that end there",
    "lex": "how often a word stands in a passage, saturated (BM25)",
}
"""The fields, for those who meet their names for the first time."""
RANKING_WORDS = {
    "idf": "how rare an n-gram is: the fewer passages have it, the larger",
    "tf-idf": "how often a word stands in a passage times its idf: what a classic index makes of it",
}


def path_of(name: str) -> str:
    """The page of what is looked up; what Discover's box calls a feature (`start:word`) is there, at its field."""
    terms, error = readable(name, ())
    condition = terms[0].condition if len(terms) == 1 and not error else None
    if condition and condition.field in FIELDS:
        return f"{feature_path(condition.value)}#{condition.field}"
    return feature_path(name)


def marked_in(top: TopPassage, pieces: Sequence[str]) -> list[tuple[str, str]]:
    """A passage in pieces: the n-gram apart (`ngram`), and the phrase that it weighs most for (`phrase`)."""
    word = r"\W{0,3}".join(re.escape(piece.removeprefix("##")) for piece in pieces)
    found = re.finditer(rf"(?<!\w){word}" if not pieces[0].startswith("##") else word, top.passage.text, re.IGNORECASE)
    spans = [(match.start(), match.end(), "ngram") for match in found][:6]
    spans += [(top.phrase.start, top.phrase.end, "phrase")] if top.phrase else []
    return around(top.passage.text, spans) if spans else [(top.snippet, "")]


async def start(request: Request) -> Response:
    """`GET /features`: a box to look one up, and the most frequent ones."""
    state = state_of(request)
    name = Parameters(request.query_params, state.limits).one(text("name", state.limits), "").strip()
    if _says_something(name):
        return RedirectResponse(path_of(name), 303)
    problem = "Write a word, or two that follow each other." if name else ""
    return await page_response(request, "features.html", lambda: {**_start(state), "problem": problem})


def _says_something(name: str) -> bool:
    try:
        return bool(cleaned(name))
    except UsageError:
        return False


def _start(state: AppState) -> dict[str, Any]:
    overview = state.overview()
    explained = {"glossary": FIELD_WORDS | RANKING_WORDS, "titles": FIELD_TITLES}
    return {"page": "feature", "overview": overview, **explained, "twin": "/api/index"}


async def page(request: Request) -> Response:
    """`GET /features/{name}`."""
    state = state_of(request)
    name = short("name", request.path_params["name"], state.limits)
    if path_of(name) != feature_path(name):
        return RedirectResponse(path_of(name), 303)
    return await page_response(request, "feature.html", lambda: _view(state.index, name))


def _view(index: Index, name: str) -> dict[str, Any]:
    view = feature_view(index, name)
    fields = []
    for field in view.fields:
        histogram = charts.columns(field.statistics.edges, field.statistics.counts)
        listed = requests.Discover()
        only, without = (listed.adding(field.field, view.name, negated=negated) for negated in (False, True))
        fields.append({"field": field, "columns": histogram, "only": only, "without": without})
    return {
        "page": "feature",
        "view": view,
        "fields": fields,
        "titles": FIELD_TITLES,
        "notes": FIELD_NOTES,
        "glossary": RANKING_WORDS,
        "marked_in": marked_in,
        "longest": max(index.encoder.ngrams, default=1),
        "twin": "/api" + feature_path(name),
        "title": view.name,
    }
