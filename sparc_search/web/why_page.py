"""Why: the question, two phrases with what it pays each of them for, and the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sparc_search.errors import NotThere, UsageError
from sparc_search.index import cleaned
from sparc_search.inspection import Choice, Difference, Mark, Piece, QuestionView, ReturnedAnswer, ScoredPhrase, WhyView
from sparc_search.inspection.verdict import GROUPS, Group, by_group
from sparc_search.inspection.why import Cure

from . import charts
from .api import why_view
from .painting import PaintedPiece, painted, strong, worth
from .problems import in_words, problem_of
from .replies import page_response
from .state import AppState, state_of
from .why_request import WhyRequest, why_of

ROWS = 14
"""Differences that are shown one by one; the rest is summed up."""
MOST = 30
"""Factors that a slider may reach."""
_VISIBLE = 0.005
"""Less is nothing to the eye."""


@dataclass(frozen=True, slots=True)
class DrawnSide:
    """One of the two phrases, ready to be drawn."""

    letter: str
    phrase: ScoredPhrase
    title: Sequence[PaintedPiece]
    pieces: Sequence[PaintedPiece]
    rest: str
    """The text behind the last word piece."""
    bar: tuple[charts.BarSegment, ...]


@dataclass(frozen=True, slots=True)
class DrawnDifference:
    """A row of the difference, the side it speaks for, and how long its bar is, in percent."""

    row: Difference
    width: float
    grams: str
    place: str
    """Which end of the phrases a dense part is of, for the light."""


async def page(request: Request) -> Response:
    """`GET /why`."""
    state = state_of(request)
    wanted = why_of(request.query_params, state.parameters, state.index.settings, strict=False)
    shown = _view if wanted.ask.question.strip() else _empty
    return await page_response(request, "why.html", lambda: shown(state, wanted))


def _empty(state: AppState, wanted: WhyRequest, problem: str = "") -> dict[str, Any]:
    return {
        "page": "why",
        "wanted": wanted,
        "view": None,
        "passages": state.index.engine.statistics().passages,
        "problem": problem,
        "beside": False,
        "title": "Why",
        "also": (),
        "Choice": Choice,
    }


def _view(state: AppState, wanted: WhyRequest) -> dict[str, Any]:
    problem = ""
    for plain in (wanted, replace(wanted, other=None), replace(wanted, one=None, other=None)):
        try:
            view = why_view(state, plain)
            break
        except (NotThere, UsageError) as error:  # the page stays, with what is wrong beside the fields
            problem = problem or in_words(problem_of(error))
    else:
        return _empty(state, wanted, problem)
    return {
        "page": "why",
        "wanted": plain,
        "typed": wanted.other,
        "problem": problem,
        "beside": bool(problem) and plain.one == wanted.one,
        "view": view,
        **_drawn(view, plain),
        "kinds": charts.GROUPS,
        "also": tuple(state.also),
        "Choice": Choice,
        "title": plain.ask.question,
        "twin": plain.twin(),
    }


def _drawn(view: WhyView, wanted: WhyRequest) -> dict[str, Any]:
    phrases = [phrase for phrase in (view.a, view.b) if phrase]
    scale = charts.stacked_scale([phrase.by_kind for phrase in phrases])
    every = wanted.every
    marks = [mark for phrase in phrases for mark in _marks(phrase, every)]
    most = max((max(mark.start, mark.end, mark.lex) for mark in marks if mark.n == 1), default=1.0)
    rows = view.contrast.by_name if view.contrast else ()
    names = dict.fromkeys([*(row.name for row in view.question.ngrams), *(row.name for row in rows)])
    names |= dict.fromkeys(mark.name for mark in marks)
    numbers = {name: at for at, name in enumerate(name for name in names if name)}
    sides = [_side(letter, phrase, scale, most, numbers, every) for letter, phrase in zip("AB", phrases, strict=False)]
    return {
        "sides": sides,
        "asked": asked(view.question, numbers, marks),
        "asked_other": asked(view.other_question, numbers, marks) if view.other_question else (),
        **_differences(rows, numbers),
        "what_if": _what_if(view),
        "totals": _totals(view),
        "reach": {group: reach(view.cures, group) for group in GROUPS},
    }


def _marks(phrase: ScoredPhrase, every: bool) -> Sequence[Mark]:
    """What is painted: what the question pays for, or all weights, of the pairs only the heavy ones."""
    if not every or phrase.method == "tfidf":
        return [mark for mark in phrase.marks if worth(mark) >= _VISIBLE]
    return strong(phrase.weights)


def _side(
    letter: str, phrase: ScoredPhrase, scale: charts.Scale, most: float, numbers: Mapping[str, int], every: bool
) -> DrawnSide:
    made = painted(
        phrase.passage.text,
        phrase.pieces,
        _marks(phrase, every),
        (phrase.first, phrase.last),
        most=most,
        numbers=numbers,
        points=not every,
    )
    last = max((piece.end for piece in phrase.pieces), default=0)
    return DrawnSide(
        letter,
        phrase,
        [one for one in made if one.piece.title and not one.text.startswith("[")],
        [one for one in made if not one.piece.title],
        phrase.passage.text[last:],
        charts.stacked(phrase.by_kind, scale),
    )


def asked(question: QuestionView, numbers: Mapping[str, int], paid: Sequence[Mark]) -> list[PaintedPiece]:
    """The question, each word painted with its own weights; of the pairs those that pay for one of the phrases."""
    pieces = [Piece(piece.text, piece.at, piece.at + len(piece.text), False) for piece in question.pieces]
    marks = [Mark(row.name, row.n, at, row.start, row.end) for row in question.ngrams for at in row.positions]
    most = max((max(mark.start, mark.end) for mark in marks if mark.n == 1), default=1.0)
    names = {mark.name for mark in paid}
    shown = [mark for mark in marks if mark.n == 1 or mark.name in names]
    return painted(cleaned(question.question), pieces, shown, None, most=most, numbers=numbers)


def _differences(rows: Sequence[Difference], numbers: Mapping[str, int]) -> dict[str, Any]:
    visible = [row for row in rows if abs(row.difference) >= _VISIBLE]
    first, rest = visible[:ROWS], visible[ROWS:]
    most = max((abs(row.difference) for row in first), default=0.0) or 1.0
    places = {"dense start": "first", "dense end": "last", "span": "span"}
    drawn = [
        DrawnDifference(
            row,
            100 * abs(row.difference) / most,
            str(numbers[row.name]) if row.name else "",
            places.get(row.kind, ""),
        )
        for row in first
    ]
    return {"rows": drawn, "rest": sum(row.difference for row in rest), "rest_count": len(rest)}


def _totals(view: WhyView) -> list[tuple[Group, float, float, float]]:
    if not view.b:
        return []
    mine, other = by_group(view.a.by_kind), by_group(view.b.by_kind)
    return [(group, mine[group], other[group], mine[group] - other[group]) for group in GROUPS]


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    """An answer (or a phrase that is none) whose parts can be weighed anew."""

    text: str
    title: str
    rank: int | None
    letter: str
    parts: Mapping[Group, float]
    score: float
    choice: Choice


def _what_if(view: WhyView) -> list[WhatIfRow]:
    """The answers that were given; A and B too, where they are none of them."""
    rows = [_weighable(answer, _letter(answer, view)) for answer in view.answers]
    for letter, phrase in (("A", view.a), ("B", view.b)):
        if phrase and phrase.rank is None and not phrase.index and phrase.method == "learned":
            choice = Choice(passage=phrase.passage.id, span=(phrase.start, phrase.end))
            title = phrase.passage.title or phrase.passage.document_id
            rows.append(WhatIfRow(phrase.text, title, None, letter, by_group(phrase.by_kind), phrase.score, choice))
    return sorted(rows, key=lambda row: -row.score)


def reach(cures: Sequence[Cure], group: Group) -> int:
    """How far the slider of a part goes: beyond the weight that is told to cure the error, unless that is absurd."""
    told = [math.ceil(1.1 * cure.least) for cure in cures if cure.part == group]
    return max(3, *(most for most in told if most <= MOST), 0)


def _weighable(answer: ReturnedAnswer, letter: str) -> WhatIfRow:
    choice = Choice(answer=answer.rank)
    return WhatIfRow(answer.text, answer.title, answer.rank, letter, answer.by_group, answer.score, choice)


def _letter(answer: ReturnedAnswer, view: WhyView) -> str:
    if answer.rank == view.a.rank:
        return "A"
    return "B" if view.b and view.b.rank == answer.rank and not view.b.index else ""
