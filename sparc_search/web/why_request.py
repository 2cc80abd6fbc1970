"""What an address asks of /why: a question, one phrase, and another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from starlette.datastructures import QueryParams

from sparc_search.errors import UsageError
from sparc_search.inspection import Choice
from sparc_search.settings import Settings

from .parameters import Parameters
from .problems import conflicting, invalid
from .rendering import with_query
from .requests import ApiParameters, Ask, Query, ask_of


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """A question and how it is answered, two choices, and how they are painted."""

    ask: Ask
    one: Choice | None = None
    other: Choice | None = None
    every: bool = False

    def query(self, **changes: Any) -> Query:
        """Its parameters."""
        changed = replace(self, **changes)
        asked = [pair for pair in changed.ask.query(explain=False) if pair[0] not in ("rank", "against", "unit", "all")]
        return [
            *asked,
            *_pairs(changed.one, "answer", ""),
            *_pairs(changed.other, "against", "against_"),
            ("weights", "all" if changed.every else ""),
        ]

    def page(self, **changes: Any) -> str:
        """The address of its page."""
        return with_query("/why", self.query(**changes))

    def twin(self) -> str:
        """The address of the same as JSON."""
        return with_query("/api/why", self.query())


def why_page(ask: Ask, one: Choice | None = None, other: Choice | None = None) -> str:
    """The page that puts two phrases side by side."""
    return WhyRequest(ask, one, other).page()


def _pairs(choice: Choice | None, rank: str, prefix: str) -> Query:
    if choice is None:
        return []
    span = f"{choice.span[0]}-{choice.span[1]}" if choice.span else ""
    named = [("passage", choice.passage), ("phrase", choice.phrase), ("span", span), ("index", choice.index)]
    return [(rank, "tfidf" if choice.tfidf else choice.answer), *((prefix + name, value) for name, value in named)]


def why_of(query: QueryParams, known: ApiParameters, settings: Settings, *, strict: bool) -> WhyRequest:
    """What an address asks."""
    given = Parameters(query, known.limits, known.why if strict else None)
    asking = [parameter.name for parameter in (known.q, known.k, known.strategy, known.only, known.read)]
    asked = ask_of(
        QueryParams([pair for pair in query.multi_items() if pair[0] in asking]), known, settings, strict=strict
    )
    if strict and not asked.question.strip():
        raise invalid("q", "there is no question", "send one as ?q=…")
    rank = given.one(known.other, "")
    one = _choice(
        given,
        "answer",
        answer=given.one(known.answer, None),
        passage=given.one(known.of_passage, ""),
        phrase=given.one(known.phrase, ""),
        span=given.one(known.span, None),
    )
    other = _choice(
        given,
        "against",
        answer=int(rank) if rank.isdecimal() else None,
        tfidf=rank == "tfidf",
        passage=given.one(known.other_passage, ""),
        phrase=given.one(known.other_phrase, ""),
        span=given.one(known.other_span, None),
        index=given.one(known.other_index, ""),
    )
    every = given.one(known.weights, False)
    wrong = {**asked.wrong, **given.wrong}
    ask = replace(asked, unit="phrase", all=False, explain=False, rank=1, against=None, wrong=wrong)
    return WhyRequest(ask, one, other, every)


def _choice(given: Parameters, name: str, **fields: Any) -> Choice | None:
    """What is chosen, if anything is."""
    choice = None
    with given.on_a_page(name):
        try:
            choice = Choice(**fields)
        except UsageError as error:
            raise conflicting(name, error.message, error.remedy) from error
    return choice if choice != Choice() else None


def score_of(query: QueryParams, known: ApiParameters) -> tuple[str, str, int, int]:
    """Question, passage, and the characters of a span."""
    given = Parameters(query, known.limits, known.score)
    question, passage = given.one(known.q, ""), given.one(known.of_passage, "")
    start, end = given.one(known.start, None), given.one(known.end, None)
    for name, value in (("q", question.strip() or None), ("passage", passage or None), ("start", start), ("end", end)):
        if value is None:
            raise invalid(name, f"there is no {name!r}", "send q, passage, start and end")
    assert start is not None
    assert end is not None
    return question, passage, start, end
