"""The HTTP API: each function takes a request and gives what its page shows, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.errors import NotThere, UsageError
from sparc_search.index import Index
from sparc_search.inspection.answer import explained
from sparc_search.inspection.discover import complete as complete_view
from sparc_search.inspection.plain import view_from
from sparc_search.records import Document, Reading, Reply, Section, Strategy

from . import etags, requests
from .limits import WebLimits, read_body
from .parameters import Parameter, Parameters, short
from .problems import HttpProblem, invalid
from .replies import StrictJSON, cut_long
from .state import AppState, state_of
from .why_request import WhyRequest, score_of, why_of


async def ask(request: Request) -> Response:
    """`/api/ask`: one route for both methods, so that whoever asks for a third is told of both."""
    return await (ask_many(request) if request.method == "POST" else ask_one(request))


async def ask_one(request: Request) -> Response:
    """`GET /api/ask`: one question."""
    state = state_of(request)
    wanted = requests.ask_of(request.query_params, state.parameters, state.index.settings, strict=True)
    if not wanted.question:
        raise invalid("q", "there is no question", "send one as ?q=…")
    return await reply(request, lambda: ask_json(state.index, wanted))


async def search(request: Request) -> Response:
    """`GET /api/v1/search`: the passages (or sentences, or documents) that fit some words best."""
    state = state_of(request)
    wanted = requests.search_of(request.query_params, state.parameters, state.index.settings)
    if not wanted.question:
        raise invalid("q", "there is nothing to search for", "send it as ?q=…")
    return await reply(request, lambda: ask_json(state.index, wanted))


async def reply(request: Request, work: Callable[[], Any], *, tagged: bool = True) -> Response:
    """The result of some work as JSON, in which no string is endless; nothing, if the client has it already."""
    state, known = state_of(request), request.headers.get("if-none-match", "")
    if not tagged:
        return StrictJSON(cut_long(await state.run(work), state.limits.string))

    def answer() -> tuple[str, Any]:
        tag = etags.tag_of(state.index)
        return tag, None if etags.is_known(tag, known) else cut_long(work(), state.limits.string)

    tag, told = await state.run(answer)
    headers = {"ETag": tag, **etags.HEADERS}
    if told is None:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return StrictJSON(told, headers=headers)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why: the weights of the question, an answer beside another one, and the same as a query for OpenSearch."""

    question: inspection.QuestionView
    comparison: inspection.Comparison | None
    opensearch_query: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ReplyView:
    """What a question gets; `explanation`, and the parts of the answers, only if they were asked for."""

    question: str
    confidence: float | None
    strategy: Strategy
    candidates: int
    snapshot: int
    seconds: Mapping[str, float]
    degraded: tuple[str, ...]
    read: Reading | None
    guess: bool
    answers: tuple[inspection.ExplainedAnswer, ...]
    explanation: Explanation | None


def ask_json(index: Index, wanted: requests.Ask) -> dict[str, Any]:
    """Answers, and with `explain` why."""
    where = dict(wanted.where)
    if not wanted.explain:
        options = {
            "k": wanted.k,
            "unit": wanted.unit,
            "all": wanted.all,
            "strategy": wanted.strategy,
            "read": wanted.read,
        }
        return reply_json(index.ask(wanted.question, where=where, **options))  # type: ignore[arg-type]
    view = view_of(index, wanted)
    query = inspection.question_query(index, wanted.question, where=where)
    shown = view.answers[: wanted.k]  # the one it is put beside may be further down
    return _json(view, view.question.question, shown, Explanation(view.question, view.comparison, query))


def reply_json(reply: Reply) -> dict[str, Any]:
    """A reply without its explanation."""
    told = _json(reply, reply.question, explained(reply))
    del told["explanation"]
    for answer in told["answers"]:
        del answer["parts"]
    return told


def _json(
    reply: Reply | inspection.AnswerView,
    question: str,
    answers: tuple[inspection.ExplainedAnswer, ...],
    explanation: Explanation | None = None,
) -> dict[str, Any]:
    confidence = answers[0].confidence if answers else None
    other = {"question": question, "confidence": confidence, "answers": answers, "explanation": explanation}
    told: dict[str, Any] = inspection.to_json(view_from(ReplyView, reply, **other))
    return told


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
        read=wanted.read,
        unit=wanted.unit,
        all=wanted.all,
    )


async def ask_many(request: Request) -> Response:
    """`POST /api/ask`: many questions, answered in batches."""
    state = state_of(request)
    body = await _sent(request, state.parameters.batch, 'send {"questions": ["…"]}')
    questions = _questions(body.get("questions"), state.limits)
    options = _options(body, state)

    def work() -> dict[str, Any]:
        if options["explain"]:
            chosen = options | {"where": tuple(options["where"].items())}
            return {"replies": [ask_json(state.index, requests.Ask(question, **chosen)) for question in questions]}
        return {"replies": [reply_json(reply) for reply in state.index.ask_many(questions, **options)]}

    return await reply(request, work, tagged=False)


async def _sent(request: Request, known: Collection[str], example: str) -> dict[str, Any]:
    """The JSON object that was sent, with none but known fields."""
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content != "application/json":
        raise HttpProblem(415, "unsupported_media_type", "the body is not JSON", "send Content-Type: application/json")
    try:
        fields = json.loads(await read_body(request, state_of(request).limits.body))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise HttpProblem(400, "no_json", "the body is not a JSON object", example)
    for key in fields:
        if key not in known:
            raise invalid(key[:40], f"there is no field {key[:40]!r}", f"known are: {', '.join(known)}")
    return fields


def _questions(value: object, limits: WebLimits) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(question, str) for question in value):
        raise invalid("questions", "'questions' is not a list of texts", 'send {"questions": ["…"]}')
    if not 1 <= len(value) <= limits.batch:
        raise invalid("questions", f"there are {len(value)} questions", f"send 1 to {limits.batch}")
    longest, most = max(map(len, value)), limits.question
    if longest > most:
        raise invalid("questions", f"a question has {longest:,} characters", f"at most {most:,} are taken")
    return value


def _whole(value: Any) -> Any:
    """5.0 is a whole number to JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _options(body: Mapping[str, Any], state: AppState) -> dict[str, Any]:
    settings, limits, known = state.index.settings, state.limits, state.parameters
    k = body.get("k", min(settings.top_k, limits.answers))
    k = _whole(k)
    known.k.value(str(k) if type(k) is int else "", shown=str(k)[:40])
    strategy = known.strategy.value(str(body.get("strategy", settings.strategy)))
    unit = known.unit.value(str(body.get("unit", settings.unit)))
    where = body.get("where", {})
    if not isinstance(where, dict) or not all(isinstance(value, str) for value in where.values()):
        raise invalid("where", "'where' is not an object of texts", 'send {"key": "value"}')
    if len(where) > limits.filters:
        raise invalid("where", f"there are {len(where)} filters", f"at most {limits.filters} are taken")
    flags = {name: body.get(name, False) for name in ("explain", "all")}
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise invalid(name, f"{name!r} is neither true nor false")
    read = _whole(body.get("read", settings.read))
    known.read.value(str(read) if type(read) in (int, str) else "", shown=str(read)[:40])
    return {"k": k, "unit": unit, "strategy": strategy, "where": where, "read": read, **flags}


async def passage(request: Request) -> Response:
    """`GET /api/passages/{id}`."""
    state = state_of(request)
    wanted = requests.passage_of(
        requests.id_in(request.path_params), request.query_params, state.parameters, strict=True
    )
    return await reply(request, lambda: inspection.to_json(passage_view(state.index, wanted)))


async def any_text(request: Request) -> Response:
    """`POST /api/v1/try`: the phrases and weights of any text; nothing of it is stored, and it is in no address."""
    state, example = state_of(request), 'send {"text": "…"}'
    known = {parameter.name: parameter for parameter in state.parameters.trying}
    body = await _sent(request, known, example)
    given = [(name, _written(known[name], value)) for name, value in body.items()]
    wanted = requests.passage_of("", QueryParams(given), state.parameters, strict=True)
    if not wanted.text.strip():
        raise invalid("text", "there is no text", example)
    return await reply(request, lambda: inspection.to_json(passage_view(state.index, wanted)), tagged=False)


def _written(parameter: Parameter[Any], value: Any) -> str:
    """A value of JSON as it would stand in an address, if it is of the kind that the parameter has."""
    kind = parameter.schema.get("type", "string")
    value = _whole(value) if kind == "integer" else value
    kinds = {"string": (str,), "integer": (int,), "number": (int, float)}[kind]
    if type(value) not in kinds:
        article = "an" if kind == "integer" else "a"
        raise invalid(parameter.name, f"{parameter.name!r} is not {article} {kind}", parameter.remedy)
    return str(value + 0.0 if isinstance(value, float) else value)  # -0.0 is 0


def passage_view(index: Index, wanted: requests.PassageRequest) -> inspection.PassageView:
    """A passage as it is asked for."""
    look, what = (inspection.passage_view, wanted.id) if wanted.id else (inspection.text_view, wanted.text)
    return look(
        index,
        what,
        token=wanted.token,
        phrase=wanted.phrase,
        span=wanted.span,
        sides=wanted.sides,
        sizes=wanted.sizes,
        threshold=wanted.threshold,
    )


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document, and a part of its text."""

    id: str
    title: str
    source: str
    metadata: Mapping[str, str]
    characters: int
    """Of the whole text."""
    start: int
    """Where the part begins."""
    text: str
    sections: tuple[Section, ...]
    """Those that begin in the part."""


async def document(request: Request) -> Response:
    """`GET /api/v1/documents/{id}`: a document as it was added; a long text part by part."""
    state = state_of(request)
    known = state.parameters
    given = Parameters(request.query_params, state.limits, known.document_text)
    id = short("id", request.path_params["id"], state.limits)
    start, length = given.one(known.start, 0), given.one(known.length, state.limits.string)
    return await reply(request, lambda: inspection.to_json(document_view(state.index.document(id), start, length)))


def document_view(document: Document, start: int, length: int) -> DocumentView:
    """A document, and the part of its text that begins at a character."""
    text = document.text[start : start + length]
    sections = tuple(section for section in document.sections if start <= section.start < start + length)
    return view_from(DocumentView, document, characters=len(document.text), start=start, text=text, sections=sections)


async def feature(request: Request) -> Response:
    """`GET /api/features/{name}`."""
    state = state_of(request)
    known = state.parameters
    given = Parameters(request.query_params, state.limits, known.feature)
    name = short("name", request.path_params["name"], state.limits)
    k, bins, where = given.one(known.k, 20), given.one(known.bins, 20), dict(given.each(known.only))
    options = {"k": k, "bins": bins, "where": where}
    return await reply(request, lambda: inspection.to_json(feature_view(state.index, name, **options)))


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
    view = state.overview  # with the history of ingests, which grows without any change of the index
    return await reply(request, lambda: inspection.to_json(view()), tagged=False)


async def question(request: Request) -> Response:
    """`GET /api/question`: the weights of a question, without answering it."""
    state = state_of(request)
    known = state.parameters
    text = Parameters(request.query_params, state.limits, (known.q,)).one(known.q, "")
    return await reply(request, lambda: inspection.to_json(inspection.question_view(state.index, text)))


async def score(request: Request) -> Response:
    """`GET /api/score`: the exact score of any span of a passage."""
    state = state_of(request)
    wanted = score_of(request.query_params, state.parameters)
    return await reply(request, lambda: inspection.to_json(inspection.score_view(state.index, *wanted)))


async def why(request: Request) -> Response:
    """`GET /api/why`: two phrases side by side, and why one stands before the other."""
    state = state_of(request)
    wanted = why_of(request.query_params, state.parameters, state.index.settings, strict=True)
    return await reply(request, lambda: inspection.to_json(why_view(state, wanted)), tagged=False)


def why_view(state: AppState, wanted: WhyRequest) -> inspection.WhyView:
    """Two phrases as they are asked for."""
    ask = wanted.ask
    return inspection.why_view(
        state.index,
        ask.question,
        wanted.one,
        wanted.other,
        k=ask.k,
        strategy=ask.strategy,
        where=dict(ask.where),
        read=ask.read,
        every=wanted.every,
        also=state.also,
    )


async def suggest(request: Request) -> Response:
    """`GET /api/suggest`: what to offer while someone types."""
    state = state_of(request)
    known = state.parameters
    given = Parameters(request.query_params, state.limits, known.suggest)
    text, k = given.one(known.text, ""), given.one(known.k, 10)
    return await reply(request, lambda: inspection.to_json(inspection.suggest(state.index, text, k=k)))


async def complete(request: Request) -> Response:
    """`GET /api/v1/complete`: how what is typed into the box of Discover may go on."""
    state = state_of(request)
    known = state.parameters
    given = Parameters(request.query_params, state.limits, known.complete)
    text, k = given.one(known.typed, ""), given.one(known.k, 8)
    return await reply(request, lambda: {"completions": inspection.to_json(complete_view(state.index, text, k=k))})


async def discover(request: Request) -> Response:
    """`GET /api/discover`: passages or documents, one page of them, and the same as a query for OpenSearch."""
    state = state_of(request)
    wanted = requests.discover_of(request.query_params, state.parameters, strict=True)
    return await reply(request, lambda: discover_json(state.index, requests.resolved(state.index, wanted, strict=True)))


def discover_json(index: Index, wanted: requests.Discover) -> dict[str, Any]:
    """One page of a listing."""
    query = inspection.listing_query(wanted.listing)
    return {"of": wanted.of, **inspection.to_json(discover_view(index, wanted)), "opensearch_query": query}


def discover_view(index: Index, wanted: requests.Discover) -> inspection.PassagesPage | inspection.DocumentsPage:
    """One page of a listing."""
    if wanted.of == "documents":
        return inspection.discover_documents(index, wanted.listing)
    return inspection.discover_passages(index, wanted.listing)
