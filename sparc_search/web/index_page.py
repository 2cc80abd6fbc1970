"""Index: how much it holds, how its weights are spread, which model made it, how it came to be."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sparc_search.inspection import Histogram, IndexView

from . import charts
from .feature_page import FIELD_TITLES, FIELD_WORDS
from .replies import page_response
from .state import state_of


async def page(request: Request) -> Response:
    """`GET /index`."""
    state = state_of(request)
    return await page_response(request, "index.html", lambda: drawn_view(state.overview()))


def drawn_view(view: IndexView) -> dict[str, Any]:
    """What the page shows."""
    sample = view.sample
    return {
        "page": "index",
        "view": view,
        "titles": FIELD_TITLES,
        "weights": {field: drawn(histogram) for field, histogram in sample.weights.items()},
        "features": {field: drawn(histogram) for field, histogram in sample.features.items()},
        "ngrams": {side: drawn(histogram) for side, histogram in sample.ngrams.items()},
        "tokens": drawn(sample.tokens),
        "glossary": FIELD_WORDS,
        "words": view.facts.get("words"),
        "sizes": sizes(view),
        "twin": "/api/index",
        "title": "Index",
    }


def drawn(histogram: Histogram) -> dict[str, Any]:
    """A histogram with its columns."""
    return {"of": histogram, "columns": charts.columns(histogram.edges, histogram.counts)}


def sizes(view: IndexView) -> list[tuple[str, int, float]]:
    """Bytes by part with the share of the largest, as far as the store tells."""
    by_part = view.facts.get("bytes")
    parts = {str(name): int(value) for name, value in by_part.items()} if isinstance(by_part, dict) else {}
    most = max(parts.values(), default=0) or 1
    return [(name, value, 100 * value / most) for name, value in parts.items()]
