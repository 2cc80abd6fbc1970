"""The HTTP API: each function takes a request and gives what its page shows, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.errors import NotThere, UsageError
from sparc_search.index import Index
from sparc_search.inspection.answer import explained
from sparc_search.records import STRATEGIES, Reply

from . import requests
from .limits import Limits, read_body
from .parameters import Parameters
from .problems import Problem, invalid
from .replies import StrictJSON, cut_long
from .state import State, state_of

BATCH_KEYS = ("questions", "k", "strategy", "where", "explain")


async def ask(request: Request) -> Response:
    """`/api/ask`: one route for both methods, so that whoever asks for a third is told of both."""
    return await (ask_many(request) if request.method == "POST" else ask_one(request))


async def ask_one(request: Request) -> Response:
    """`GET /api/ask`: one question."""
    state = state_of(request)
    wanted = ask_of(request, strict=True)
    if not wanted.question:
        raise invalid("q", "there is no question", "send one as ?q=…")
    return await reply(state, lambda: ask_json(state.index, wanted))


def ask_of(request: Request, *, strict: bool) -> requests.Ask:
    """What a request asks."""
    state = state_of(request)
    settings = state.index.settings
    return requests.ask_of(
        request.query_params, state.limits, k=settings.top_k, strategy=settings.strategy, strict=strict
    )


async def reply(state: State, work: Any) -> Response:
    """The result of some work as JSON, in which no string is endless."""
    return StrictJSON(cut_long(await state.gate.run(work), state.limits.string))


def ask_json(index: Index, wanted: requests.Ask) -> dict[str, Any]:
    """Answers, and with `explain` why."""
    if not wanted.explain:
        where = dict(wanted.where)
        return reply_json(index.ask(wanted.question, k=wanted.k, strategy=wanted.strategy, where=where))
    view = view_of(index, wanted)
    found = inspection.to_json(view)
    found["answers"] = found["answers"][: wanted.k]  # the one it is put beside may be further down
    question = found.pop("question")
    comparison = found.pop("comparison")
    query = inspection.question_query(index, wanted.question, where=dict(wanted.where))
    best = view.answers[0].confidence if view.answers else None
    explanation = {"question": question, "comparison": comparison, "opensearch_query": query}
    return {"question": view.question.question, "confidence": best, **found, "explanation": explanation}


def view_of(index: Index, wanted: requests.Ask) -> inspection.AnswerView:
    """The answers with everything that explains them."""
    return inspection.answer_view(
        index,
        wanted.question,
        rank=wanted.rank,
        against=wanted.against,
        k=wanted.k,
        strategy=wanted.strategy,
        where=dict(wanted.where),
    )


def reply_json(reply: Reply, *, explain: bool = False) -> dict[str, Any]:
    """A reply without its explanation; with `explain` its parts go down to n-grams."""
    answers = []
    for rank, answer in enumerate(reply.answers, start=1):
        answers.append(inspection.to_json(explained(rank, answer)))
        if not explain:
            del answers[-1]["parts"]
    return {
        "question": reply.question,
        "confidence": reply.confidence,
        "strategy": reply.strategy,
        "candidates": reply.candidates,
        "snapshot": reply.snapshot,
        "seconds": dict(reply.seconds),
        "degraded": list(reply.degraded),
        "answers": answers,
    }


async def ask_many(request: Request) -> Response:
    """`POST /api/ask`: many questions, answered in batches."""
    state = state_of(request)
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content != "application/json":
        raise Problem(415, "unsupported_media_type", "the body is not JSON", "send Content-Type: application/json")
    body = _object(await read_body(request, state.limits.body))
    questions = _questions(body.get("questions"), state.limits)
    options = _options(body, state)

    def work() -> dict[str, Any]:
        replies = state.index.ask_many(questions, **options)
        return {"replies": [reply_json(reply, explain=options["explain"]) for reply in replies]}

    return await reply(state, work)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem(400, "no_json", "the body is not a JSON object", 'send {"questions": ["…"]}')
    for key in found:
        if key not in BATCH_KEYS:
            raise invalid(key[:40], f"there is no field {key[:40]!r}", f"known are: {', '.join(BATCH_KEYS)}")
    return found


def _questions(value: object, limits: Limits) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(question, str) for question in value):
        raise invalid("questions", "'questions' is not a list of texts", 'send {"questions": ["…"]}')
    if not 1 <= len(value) <= limits.batch:
        raise invalid("questions", f"there are {len(value)} questions", f"send 1 to {limits.batch}")
    for question in value:
        if len(question) > limits.question:
            most = limits.question
            raise invalid("questions", f"a question has {len(question):,} characters", f"at most {most:,} are taken")
    return value


def _options(body: Mapping[str, Any], state: State) -> dict[str, Any]:
    settings, limits = state.index.settings, state.limits
    k, strategy = body.get("k", min(settings.top_k, limits.answers)), body.get("strategy", settings.strategy)
    k = int(k) if isinstance(k, float) and k.is_integer() else k  # 5.0 is a whole number to JSON
    if type(k) is not int or not 1 <= k <= limits.answers:
        raise invalid("k", f"'k' is {str(k)[:40]}", f"give a whole number from 1 to {limits.answers}")
    if strategy not in STRATEGIES:
        raise invalid("strategy", f"'strategy' is {str(strategy)[:40]!r}", f"choose one of: {', '.join(STRATEGIES)}")
    where, explain = body.get("where", {}), body.get("explain", False)
    if not isinstance(where, dict) or not all(isinstance(value, str) for value in where.values()):
        raise invalid("where", "'where' is not an object of texts", 'send {"key": "value"}')
    if len(where) > limits.filters:
        raise invalid("where", f"there are {len(where)} filters", f"at most {limits.filters} are taken")
    if not isinstance(explain, bool):
        raise invalid("explain", "'explain' is neither true nor false")
    return {"k": k, "strategy": strategy, "where": where, "explain": explain}


async def passage(request: Request) -> Response:
    """`GET /api/passages/{id}`."""
    state = state_of(request)
    wanted = requests.passage_of(request.path_params["id"], request.query_params, state.limits, strict=True)
    return await reply(state, lambda: inspection.to_json(passage_view(state.index, wanted)))


def passage_view(index: Index, wanted: requests.PassageRequest) -> inspection.PassageView:
    """A passage as it is asked for."""
    return inspection.passage_view(
        index,
        wanted.id,
        token=wanted.token,
        phrase=wanted.phrase,
        span=wanted.span,
        sides=wanted.sides,
        sizes=wanted.sizes,
        threshold=wanted.threshold,
    )


async def feature(request: Request) -> Response:
    """`GET /api/features/{name}`."""
    state = state_of(request)
    known = Parameters(request.query_params, state.limits, ("k", "bins", "where"))
    name = known.short("name", request.path_params["name"])
    k, bins = known.integer("k", 20, 1, state.limits.answers), known.integer("bins", 20, 1, 100)
    where = dict(known.pairs("where"))
    return await reply(state, lambda: inspection.to_json(feature_view(state.index, name, k=k, bins=bins, where=where)))


def feature_view(index: Index, name: str, **options: Any) -> inspection.FeatureView:
    """An n-gram across the index; a name that no n-gram can have is one that is not there."""
    try:
        return inspection.feature_view(index, name, **options)
    except UsageError as error:
        raise NotThere(error.message, error.remedy) from error


async def index(request: Request) -> Response:
    """`GET /api/index`."""
    state = state_of(request)
    Parameters(request.query_params, state.limits, ())
    return await reply(state, lambda: inspection.to_json(state.overview()))


async def question(request: Request) -> Response:
    """`GET /api/question`: the weights of a question, without answering it."""
    state = state_of(request)
    text = Parameters(request.query_params, state.limits, ("q",)).text("q")
    return await reply(state, lambda: inspection.to_json(inspection.question_view(state.index, text)))


async def suggest(request: Request) -> Response:
    """`GET /api/suggest`: what to offer while someone types."""
    state = state_of(request)
    known = Parameters(request.query_params, state.limits, ("text", "k"))
    text, k = known.text("text"), known.integer("k", 10, 1, state.limits.answers)
    return await reply(state, lambda: inspection.to_json(inspection.suggest(state.index, text, k=k)))


async def discover(request: Request) -> Response:
    """`GET /api/discover`: passages or documents, one page of them, and the same as a query for OpenSearch."""
    state = state_of(request)
    wanted = requests.discover_of(request.query_params, state.limits, strict=True)
    return await reply(state, lambda: discover_json(state.index, wanted))


def discover_json(index: Index, wanted: requests.Discover) -> dict[str, Any]:
    """One page of a listing."""
    query = inspection.listing_query(wanted.listing)
    return {"of": wanted.of, **inspection.to_json(discover_view(index, wanted)), "opensearch_query": query}


def discover_view(index: Index, wanted: requests.Discover) -> inspection.PassagesPage | inspection.DocumentsPage:
    """One page of a listing."""
    if wanted.of == "documents":
        return inspection.discover_documents(index, wanted.listing)
    return inspection.discover_passages(index, wanted.listing)
