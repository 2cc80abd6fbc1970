"""Ask: answers in their sentences, and why each has its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sparc_search.errors import NotThere, UsageError
from sparc_search.inspection import AnswerView, Choice, Comparison, Difference, ExplainedAnswer, QuestionView
from sparc_search.inspection.answer import compared
from sparc_search.records import STRATEGIES, UNITS, PartKind, ScorePart

from . import charts
from .api import view_of
from .excerpt import Excerpt, excerpt, one_line
from .parameters import Wrong
from .problems import in_words, problem_of
from .replies import page_response
from .requests import Ask, ask_of
from .state import AppState, state_of
from .why_request import why_page

ROWS = 14
"""N-grams of a comparison that are shown one by one; the rest is summed up."""


@dataclass(frozen=True, slots=True)
class Match:
    """An n-gram of the question: what it weighs there, in the passage (None: nothing), and in the score."""

    name: str
    question_weight: float
    passage_weight: float | None
    value: float
    share: float
    """Of the largest value among its like, in percent."""


@dataclass(frozen=True, slots=True)
class Versus:
    """The answer beside another one."""

    other: ExplainedAnswer
    comparison: Comparison
    rows: tuple[tuple[Difference, charts.BarSegment], ...]
    rest: float
    rest_count: int


@dataclass(frozen=True, slots=True)
class Explained:
    """What stands behind *Why this score*."""

    starts: tuple[Match, ...]
    ends: tuple[Match, ...]
    terms: tuple[Match, ...]
    versus: Versus | None


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer, ready to be drawn."""

    answer: ExplainedAnswer
    excerpt: Excerpt
    headline: str
    """The phrase or sentence; empty where the unit is larger, and its title stands for it."""
    bar: tuple[charts.BarSegment, ...]
    explained: Explained | None
    """Of the answer that is open; the others are drawn when they are opened."""


async def page(request: Request) -> Response:
    """`GET /`."""
    state = state_of(request)
    wanted = ask_of(request.query_params, state.parameters, state.index.settings, strict=False)
    shown = _answered if wanted.question.strip() else _empty

    def work() -> dict[str, Any]:
        try:
            return shown(state, wanted)
        except (UsageError, NotThere) as error:  # told on the page as it was, the question still in its box
            said = {"q": Wrong(in_words(problem_of(error)))}
            return _empty(state, replace(wanted, wrong={**said, **wanted.wrong}))

    return await page_response(request, "ask.html", work)


def _empty(state: AppState, wanted: Ask) -> dict[str, Any]:
    passages = state.index.engine.statistics().passages
    return {**_common(state, wanted), "view": None, "passages": passages, "twin": "/openapi.json"}


def _common(state: AppState, wanted: Ask) -> dict[str, Any]:
    fixed = {"page": "ask", "strategies": STRATEGIES, "units": UNITS}
    return {**fixed, "wanted": wanted, "known": state.metadata()}


def _answered(state: AppState, wanted: Ask) -> dict[str, Any]:
    view = view_of(state.index, wanted)
    scale = charts.stacked_scale([answer.by_kind for answer in view.answers])
    return {
        **_common(state, wanted),
        "view": view,
        "passages": state.index.engine.statistics().passages,
        "shown": [_shown(view, answer, wanted, scale) for answer in view.answers[: max(wanted.k, wanted.rank)]],
        "scale": scale,
        "kinds": charts.GROUPS,
        "milliseconds": 1000 * sum(view.seconds.values()),
        "twin": wanted.twin(),
        "title": wanted.question,
        "why_page": _why_page,
    }


def _why_page(wanted: Ask, rank: int, answer: ExplainedAnswer) -> str:
    """The page that puts this answer beside another; of a larger unit, the phrase that was scored."""
    if wanted.unit == "phrase" and not wanted.all:
        return why_page(wanted, Choice(answer=rank))
    return why_page(wanted, Choice(passage=answer.passage.id, span=(answer.scored.start, answer.scored.end)))


def _shown(view: AnswerView, answer: ExplainedAnswer, wanted: Ask, scale: charts.Scale) -> Shown:
    return Shown(
        answer,
        excerpt(answer.passage.text, answer.scored.start, answer.scored.end),
        one_line(answer.text) if answer.unit in ("phrase", "sentence") else "",
        charts.stacked(answer.by_kind, scale),
        _explanation(view, answer, wanted) if answer.rank == wanted.rank else None,
    )


def _explanation(view: AnswerView, answer: ExplainedAnswer, wanted: Ask) -> Explained:
    return Explained(
        matches(answer.parts, "sparse start", {row.name: row.start for row in view.question.ngrams}),
        matches(answer.parts, "sparse end", {row.name: row.end for row in view.question.ngrams}),
        matches(answer.parts, "lex", _terms(view.question)),
        _versus(view, answer, wanted),
    )


def _terms(question: QuestionView) -> dict[str, float]:
    return {term.name: term.weight * question.lex_weight for term in question.terms}


def matches(parts: Sequence[ScorePart], kind: PartKind, weights: Mapping[str, float]) -> tuple[Match, ...]:
    """Every n-gram of the question: first those that count, by what they give; then those that weigh nothing here."""
    counted = {part.name: part for part in parts if part.kind == kind}
    most = max((part.value for part in counted.values()), default=0.0) or 1.0
    rows = [
        Match(part.name, part.question_weight or 0.0, part.passage_weight, part.value, 100 * part.value / most)
        for part in counted.values()
    ]
    rest = [(name, weight) for name, weight in weights.items() if weight > 0 and name not in counted]
    rest.sort(key=lambda pair: (-pair[1], pair[0]))
    return (*rows, *(Match(name, weight, None, 0.0, 0.0) for name, weight in rest))


def _versus(view: AnswerView, answer: ExplainedAnswer, wanted: Ask) -> Versus | None:
    """Beside the one that was asked for; else the first beside the second, and every other beside the first."""
    rank = wanted.against if answer.rank == wanted.rank and wanted.against else 2 if answer.rank == 1 else 1
    if not rank or rank > len(view.answers) or rank == answer.rank:
        return None
    other = view.answers[rank - 1]
    comparison = compared(answer, other)
    visible = [row for row in comparison.by_name if abs(row.difference) >= 0.005]
    first, rest = visible[:ROWS], visible[ROWS:]
    bars = charts.two_sided([row.difference for row in first])
    shown = tuple(zip(first, bars, strict=True))
    return Versus(other, comparison, shown, sum(row.difference for row in rest), len(rest))
