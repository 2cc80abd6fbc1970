"""Passage: its text shaded by weight, and the weights of any phrase in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.engine import View, supports
from sparc_search.errors import NotThere
from sparc_search.index import Index
from sparc_search.inspection import NgramRow, PassageView, Token
from sparc_search.records import SIDES
from sparc_search.stored import Listing

from . import requests
from .api import passage_view
from .parameters import Wrong
from .problems import in_words, invalid, problem_of
from .rendering import shade
from .replies import cut_long, page_response
from .state import state_of

ROWS = 40
LONGEST_TOKEN = 120
"""Characters of a token that are shown."""


@dataclass(frozen=True, slots=True)
class ShadedToken:
    """A token, the text before it, and its shades: steps from 0 to 9."""

    token: Token
    before: str
    text: str
    start: int
    end: int
    tfidf: int
    chosen: bool
    href: str


async def page(request: Request) -> Response:
    """`GET /passages/{id}`."""
    state = state_of(request)
    wanted = requests.passage_of(request.path_params["id"], request.query_params, state.parameters, strict=False)
    every = request.query_params.get("rows") == "all"
    return await page_response(request, "passage.html", lambda: _view(state.index, wanted, every, state.limits.string))


async def any_text(request: Request) -> Response:
    """`GET /try`: the same for any text."""
    state = state_of(request)
    wanted = requests.passage_of("", request.query_params, state.parameters, strict=False)
    if not wanted.text.strip():
        return await page_response(request, "try.html", lambda: _nothing(wanted, state.limits.question))
    every = request.query_params.get("rows") == "all"
    return await page_response(request, "try.html", lambda: _view(state.index, wanted, every, state.limits.string))


def _nothing(wanted: requests.PassageRequest, longest: int) -> dict[str, Any]:
    return {
        "page": "try",
        "wanted": wanted,
        "view": None,
        "longest": longest,
        "title": "Try it",
        "status": _status(wanted),
    }


def _status(wanted: requests.PassageRequest) -> HTTPStatus:
    return HTTPStatus.UNPROCESSABLE_ENTITY if wanted.wrong else HTTPStatus.OK


def looked_at(index: Index, wanted: requests.PassageRequest) -> tuple[PassageView, requests.PassageRequest]:
    """A passage as it is asked for; without the phrase, and what is wrong with it said, if it has none like it."""
    try:
        return passage_view(index, wanted), wanted
    except NotThere as error:
        if not (wanted.phrase or wanted.span or wanted.token is not None):
            raise
        message = in_words(invalid("phrase", error.message)) if wanted.phrase else in_words(problem_of(error))
        plain = replace(wanted, token=None, phrase="", span=None)
        return passage_view(index, plain), replace(plain, wrong={"phrase": Wrong(message, wanted.phrase)})


def _view(index: Index, wanted: requests.PassageRequest, every: bool, longest: int) -> dict[str, Any]:
    view, wanted = looked_at(index, wanted)
    rows = view.selection.ngrams if view.selection else view.ngrams
    tokens = shaded(view, wanted)
    twin: dict[str, Any] = {}
    if wanted.tab == "json":
        twin = cut_long(inspection.to_json(view), longest)
        twin = twin["selection"] or {name: twin[name] for name in ("passage", "kept_starts", "kept_ends", "ngrams")}
    return {
        "page": "passage" if wanted.id else "try",
        "status": _status(wanted),
        "longest": longest,
        "wanted": wanted,
        "view": view,
        "title_tokens": [token for token in tokens if token.token.title and not token.token.piece.startswith("[")],
        "tokens": [token for token in tokens if not token.token.title],
        "rows": rows if every else rows[:ROWS],
        "row_count": len(rows),
        "largest": _largest(rows),
        "json": twin,
        "twin": wanted.twin(),
        "title": view.passage.title or view.passage.document_id or "Try it",
        "sizes": [("both", "All"), *((str(n), size_name(n)) for n in index.encoder.ngrams)],
        "neighbours": _neighbours(index, view) if wanted.id else {},
        "every": every,
    }


def size_name(n: int) -> str:
    """What n-grams of one size are called."""
    return {1: "Unigrams", 2: "Bigrams", 3: "Trigrams"}.get(n, f"{n}-grams")


def shaded(view: PassageView, wanted: requests.PassageRequest) -> list[ShadedToken]:
    """Every token with its shades: of the phrase that is chosen, or else of any phrase at most."""
    start, end = ([_weight(view, token, side) for token in view.tokens] for side in SIDES)
    most = max([*start, *end], default=0.0)
    rarest = max((token.tfidf for token in view.tokens), default=0.0)
    text, at, made = view.passage.text, 0, []
    for token, own_start, own_end in zip(view.tokens, start, end, strict=True):
        before = "" if token.title else text[at : token.start]
        at = at if token.title else token.end
        made.append(
            ShadedToken(
                token,
                before,
                _short(token.text),
                shade(own_start, most),
                shade(own_end, most),
                shade(token.tfidf, rarest),
                bool(view.selection and view.selection.first <= token.number <= view.selection.last),
                wanted.choosing(token=token.number),
            )
        )
    return made


def _weight(view: PassageView, token: Token, side: str) -> float:
    """What a token weighs for one side: its own n-gram and the ones it is part of, of the sizes that are shown."""
    if side not in view.sides:
        return 0.0
    if view.selection is None:
        largest = max((token.weights.get(f"{side}_{n}", 0.0) for n in view.sizes), default=0.0)
        return largest if largest >= view.threshold else 0.0
    heaviest = 0.0
    for n in view.sizes:
        weights = view.selection.weights.get(f"{side}_{n}", ())
        heaviest = max([heaviest, *weights[max(token.number - n + 1, 0) : token.number + 1]])
    return heaviest if heaviest >= view.threshold else 0.0


def _short(text: str) -> str:
    if len(text) <= LONGEST_TOKEN:
        return text
    return f"{text[: LONGEST_TOKEN // 2]}… ({len(text):,} characters)"


def _largest(rows: Sequence[NgramRow]) -> dict[str, float]:
    """Bars of start and end share a scale; those of tf-idf have their own."""
    learned = max((max(row.start, row.end) for row in rows), default=0.0) or 1.0
    return {"learned": learned, "tfidf": max((row.tfidf or 0.0 for row in rows), default=0.0) or 1.0}


def _neighbours(index: Index, view: PassageView) -> dict[str, Any]:
    """The passages before and after this one in its document, if the store can tell."""
    listing = Listing(document_id=view.passage.document_id, offset=max(view.passage.number - 1, 0), size=3)
    with index.engine.view() as state:
        if not supports(state, View.list_passages):
            return {}
        ids = {other.number: other.id for other in state.list_passages(listing).passages}
    return {"previous": ids.get(view.passage.number - 1), "next": ids.get(view.passage.number + 1)}
