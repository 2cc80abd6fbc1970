"""Passage: its text shaded by weight, and the weights of any phrase in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.engine import View, supports
from sparc_search.errors import NotThere, UsageError
from sparc_search.index import Index
from sparc_search.inspection import Choice, Mark, NgramRow, PassageView, Piece, Token
from sparc_search.records import SIDES
from sparc_search.stored import Listing

from . import requests
from .api import passage_view
from .limits import read_body
from .painting import PaintedPiece, painted, strong
from .parameters import Wrong
from .problems import in_words, invalid, problem_of
from .rendering import shade
from .replies import cut_long, page_response
from .state import state_of
from .why_request import why_page

ROWS = 40
_MOST_TYPED: Final = 32_768
"""Bytes of the form of `/try`: a text of the longest kind, each of its bytes quoted twice."""


@dataclass(frozen=True, slots=True)
class ShadedToken:
    """A token, how it is painted, and its step of tf-idf, from 0 to 9."""

    token: Token
    paint: PaintedPiece
    tfidf: int
    href: str
    """The page with this word chosen; of a text that is in no address there is none."""


async def page(request: Request) -> Response:
    """`GET /passages/{id}`."""
    state = state_of(request)
    wanted = requests.passage_of(
        requests.id_in(request.path_params), request.query_params, state.parameters, strict=False
    )
    every = request.query_params.get("rows") == "all"
    return await page_response(request, "passage.html", lambda: _view(state.index, wanted, every, state.limits.string))


async def any_text(request: Request) -> Response:
    """`/try`: the same for any text. It comes as a form: in an address it would stay in histories and logs."""
    state = state_of(request)
    form = await _typed(request)
    wanted = requests.passage_of("", form, state.parameters, strict=False)
    if not wanted.text.strip():
        return await page_response(request, "try.html", lambda: _nothing(wanted))
    every = form.get("rows") == "all"

    def work() -> dict[str, Any]:
        try:
            return _view(state.index, wanted, every, state.limits.string)
        except UsageError as error:
            return _nothing(replace(wanted, wrong={"text": Wrong(in_words(problem_of(error)))}))

    return await page_response(request, "try.html", work)


async def _typed(request: Request) -> QueryParams:
    """What was sent: a text (a form ends its lines with two characters), or `same`, quoted, the one that is shown.

    It is quoted because a page shows what is invisible in a text as something else, and it must come back as it was.
    """
    if request.method != "POST":
        return QueryParams()
    form = QueryParams((await read_body(request, _MOST_TYPED)).decode("utf-8", "replace"))
    text = unquote(form["same"]) if "same" in form else form.get("text", "").replace("\r\n", "\n")
    return QueryParams([("text", text), *((name, value) for name, value in form.multi_items() if name != "text")])


def _nothing(wanted: requests.PassageRequest) -> dict[str, Any]:
    return {"page": "try", "wanted": wanted, "view": None, "title": "Try it"}


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
        "wanted": wanted,
        "view": view,
        "title_tokens": [token for token in tokens if token.token.title and not token.token.piece.startswith("[")],
        "tokens": [token for token in tokens if not token.token.title],
        "rows": rows if every else rows[:ROWS],
        "row_count": len(rows),
        "largest": _largest(rows),
        "json": twin,
        "twin": wanted.twin() if wanted.id else "",
        "title": view.passage.title or view.passage.document_id or "Try it",
        "sizes": [("both", "All"), *((str(n), size_name(n)) for n in index.encoder.ngrams)],
        "neighbours": _neighbours(index, view) if wanted.id else {},
        "every": every,
        "why": _why(view, wanted) if wanted.id else "",
    }


def _why(view: PassageView, wanted: requests.PassageRequest) -> str:
    """Where the question that led here is painted onto the passage, for the phrase that is chosen."""
    span = (view.selection.start, view.selection.end) if view.selection and view.selection.end else None
    return why_page(requests.Ask(wanted.question), Choice(passage=view.passage.id, span=span))


def size_name(n: int) -> str:
    """What n-grams of one size are called."""
    return {1: "Unigrams", 2: "Bigrams", 3: "Trigrams"}.get(n, f"{n}-grams")


def shaded(view: PassageView, wanted: requests.PassageRequest) -> list[ShadedToken]:
    """Every token painted: with the weights of the phrase that is chosen, or else with the most of any phrase."""
    marks = [mark for mark in _marks(view) if max(mark.start, mark.end) >= view.threshold]
    most = max((max(mark.start, mark.end) for mark in marks if mark.n == 1), default=0.0)
    rarest = max((token.tfidf for token in view.tokens), default=0.0)
    pieces = [Piece(token.text, token.start, token.end, token.title) for token in view.tokens]
    chosen = (view.selection.first, view.selection.last) if view.selection else None
    drawn = painted(view.passage.text, pieces, strong(marks), chosen, most=most, points=False)
    return [
        ShadedToken(token, one, shade(token.tfidf, rarest), wanted.choosing(token=token.number) if wanted.id else "")
        for token, one in zip(view.tokens, drawn, strict=True)
    ]


def _marks(view: PassageView) -> Iterator[Mark]:
    """The n-grams that begin at each token, of the sides and sizes that are shown."""
    for n in view.sizes:
        for token in view.tokens:
            start, end = (_weight(view, token, f"{side}_{n}") if side in view.sides else 0.0 for side in SIDES)
            if start or end:
                yield Mark("", n, token.number, start, end)


def _weight(view: PassageView, token: Token, key: str) -> float:
    if view.selection is None:
        return token.weights.get(key, 0.0)
    weights = view.selection.weights.get(key, ())
    return weights[token.number] if token.number < len(weights) else 0.0


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
