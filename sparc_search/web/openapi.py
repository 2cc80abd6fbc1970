"""The description of the API (OpenAPI 3.1), served at /openapi.json. Limits are those of the running server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.inspection import Comparison, ExplainedAnswer
from sparc_search.records import FIELDS, SIDES, STRATEGIES, Strategy
from sparc_search.stored import DocumentFacts, Listing

from .limits import Limits
from .replies import StrictJSON
from .schemas import Schema, Schemas, exactly, reference
from .state import state_of

_PAIR: Final = "^[^=]+=(.|\\n|\\r)+$"
_FEATURE: Final = f"^({'|'.join(FIELDS)}):(.|\\n|\\r)+$"
# Something must be left when control characters and white space are taken away.
_SAYING_SOMETHING: Final = "[^\\s\\u0000-\\u001f\\u007f-\\u009f]"
_TEXT: Final[Schema] = {"type": "string"}
_INTEGER: Final[Schema] = {"type": "integer"}
_NUMBER: Final[Schema] = {"type": "number"}

ERRORS: Final[Mapping[int, str]] = {
    401: "The server needs its token.",
    403: "Another site asked.",
    404: "It is not there.",
    409: "Two parameters exclude each other.",
    421: "The server does not answer to that Host.",
    422: "A parameter is not what it must be.",
    500: "Something went wrong in the server.",
    503: "Too many requests at once, or the index cannot be reached; Retry-After says when to come again.",
}


async def document(request: Request) -> Response:
    """`GET /openapi.json`."""
    return StrictJSON(described(state_of(request).limits))


def described(limits: Limits) -> dict[str, Any]:
    """The whole description."""
    schemas = Schemas()
    paths = _paths(limits, schemas)
    schemas.components["Error"] = exactly({"error": _error()})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sparc-search",
            "version": version("sparc-search"),
            "description": "Answers questions from an index, and shows every weight behind an answer. "
            f"No string of an answer is longer than {limits.string:,} characters; a longer one is cut and ends in `…`.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _error() -> Schema:
    required = {"status": _INTEGER, "type": _TEXT, "message": _TEXT}
    more = {"remedy": _TEXT, "parameter": _TEXT}
    return {**exactly(required), "properties": {**required, **more}}


def _paths(limits: Limits, schemas: Schemas) -> dict[str, Any]:
    text = {"type": "string", "maxLength": limits.question}
    asked = {**text, "minLength": 1, "pattern": _SAYING_SOMETHING}
    k = {**_range(1, limits.answers), "description": "How many."}
    where = _repeated("where", _PAIR, limits, "Metadata a passage must have, as key=value; each key once.")
    reply = _reply(schemas)
    return {
        "/api/ask": {
            "get": _operation(
                "ask",
                "Answer a question.",
                [
                    _query("q", asked, required=True),
                    _query("k", k),
                    _query("strategy", {"enum": list(STRATEGIES)}),
                    where,
                    _query("explain", {"type": "boolean"}, "Say why: n-gram by n-gram, and beside the runner-up."),
                    _query("rank", _range(1, limits.answers), "The answer that is put beside another one."),
                    _query("against", _range(1, limits.answers), "The other one; the next if not given."),
                ],
                reply,
            ),
            "post": _batch(limits, asked, schemas, reply),
        },
        "/api/question": {
            "get": _operation(
                "question",
                "The weights of a question, without answering it.",
                [_query("q", asked, required=True)],
                schemas.of(inspection.QuestionView),
            )
        },
        "/api/passages/{id}": {
            "get": _operation(
                "passage",
                "A passage with its weights, and those of one phrase of it (token, phrase or span).",
                [
                    _path("id", text),
                    _query("token", _range(0, 999_999), "Number of a word piece; its word is meant."),
                    _query("phrase", text, "Text of the passage."),
                    _query("span", {"type": "string", "pattern": "^([0-9]{1,9}-[0-9]{1,9})?$"}, "Character offsets."),
                    _query("side", {"enum": ["both", *SIDES]}),
                    _query("n", {"enum": ["both", "1", "2"]}, "Unigrams, bigrams or both."),
                    _query("min", {"type": "number", "minimum": 0, "maximum": 1000}, "Least weight that is listed."),
                ],
                schemas.of(inspection.PassageView),
            )
        },
        "/api/features/{name}": {
            "get": _operation(
                "feature",
                "An n-gram across the index.",
                [_path("name", text), _query("k", k), _query("bins", _range(1, 100)), where],
                schemas.of(inspection.FeatureView),
            )
        },
        "/api/index": {
            "get": _operation("index", "The index as a whole.", [], schemas.of(inspection.IndexView)),
        },
        "/api/suggest": {
            "get": _operation(
                "suggest",
                "Features, metadata and titles that fit what someone types.",
                [_query("text", text), _query("k", k)],
                schemas.of(inspection.Suggestions),
            )
        },
        "/api/discover": {
            "get": _operation("discover", "Passages or documents, one page of them.", _listing(limits), _page(schemas))
        },
        "/api/discover/download.json": {
            "get": _operation(
                "download_json",
                "All rows of a listing, as a file.",
                _listing(limits),
                {"type": "array", "items": _row(schemas)},
            )
        },
        "/api/discover/download.csv": {
            "get": _operation("download_csv", "All rows of a listing, as a file.", _listing(limits), None)
        },
        "/healthz": {"get": _operation("healthz", "The process is alive.", [], exactly({"status": _TEXT}))},
        "/readyz": {
            "get": _operation(
                "readyz",
                "The index can be read.",
                [],
                exactly({"status": _TEXT, "passages": _INTEGER, "snapshot": _INTEGER}),
            )
        },
    }


def _batch(limits: Limits, asked: Schema, schemas: Schemas, reply: Schema) -> dict[str, Any]:
    questions = {"type": "array", "items": asked, "minItems": 1, "maxItems": limits.batch}
    where = {"type": "object", "additionalProperties": _TEXT, "maxProperties": limits.filters}
    optional = {
        "k": _range(1, limits.answers),
        "strategy": {"enum": list(STRATEGIES)},
        "where": where,
        "explain": {"type": "boolean"},
    }
    body = {**exactly({"questions": questions}), "properties": {"questions": questions, **optional}}
    operation = _operation(
        "ask_many", "Answer many questions.", [], exactly({"replies": {"type": "array", "items": reply}})
    )
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    operation["responses"] |= {
        "400": _failed("The body is not a JSON object."),
        "413": _failed(f"The body has more than {limits.body:,} bytes."),
        "415": _failed("The body is not sent as application/json."),
    }
    return operation


def _reply(schemas: Schemas) -> Schema:
    """What `/api/ask` answers; `parts` and `explanation` are there if they were asked for."""
    schemas.of(ExplainedAnswer)
    answer = schemas.components["ExplainedAnswer"]
    answer["required"] = [name for name in answer["required"] if name != "parts"]
    required = {
        "question": _TEXT,
        "confidence": {"anyOf": [_NUMBER, {"type": "null"}]},
        "strategy": schemas.of(Strategy),
        "candidates": _INTEGER,
        "snapshot": _INTEGER,
        "seconds": {"type": "object", "additionalProperties": _NUMBER},
        "degraded": {"type": "array", "items": _TEXT},
        "answers": {"type": "array", "items": reference("ExplainedAnswer")},
    }
    explanation = exactly(
        {
            "question": schemas.of(inspection.QuestionView),
            "comparison": {"anyOf": [schemas.of(Comparison), {"type": "null"}]},
            "opensearch_query": {"type": "object"},
        }
    )
    schemas.components["Reply"] = {**exactly(required), "properties": {**required, "explanation": explanation}}
    return reference("Reply")


def _listing(limits: Limits) -> list[dict[str, Any]]:
    text = {"type": "string", "maxLength": limits.question}
    return [
        _query("of", {"enum": ["passages", "documents"]}),
        _query("text", text, "Words that text, title or metadata must hold."),
        _repeated("where", _PAIR, limits, "Metadata that must be there, as key=value."),
        _repeated("without", _PAIR, limits, "Metadata that must not be there."),
        _repeated("feature", _FEATURE, limits, "Features that must be there, as field:name."),
        _repeated("without_feature", _FEATURE, limits, "Features that must not be there."),
        _query("document", text, "Only passages of this document."),
        _query("offset", _range(0, 1_000_000)),
        _query("size", _range(1, limits.rows)),
        _repeated("column", "", limits, "Columns of the table and of the CSV file."),
    ]


def _row(schemas: Schemas) -> Schema:
    return {"anyOf": [schemas.of(inspection.PassageFacts), schemas.of(DocumentFacts)]}


def _page(schemas: Schemas) -> Schema:
    rows = {"type": "array", "items": _row(schemas)}
    required = {
        "of": {"enum": ["passages", "documents"]},
        "listing": schemas.of(Listing),
        "total": {"anyOf": [_INTEGER, {"type": "null"}]},
        "more": {"type": "boolean"},
        "metadata": schemas.of(Mapping[str, tuple[tuple[str, int], ...]]),
        "opensearch_query": {"type": "object"},
    }
    return {**exactly(required), "properties": {**required, "passages": rows, "documents": rows}}


def _operation(
    name: str, summary: str, parameters: Sequence[Mapping[str, Any]], schema: Schema | None
) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}} if schema else {"text/csv": {"schema": _TEXT}}
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": content}}
    answers |= {str(status): _failed(text) for status, text in ERRORS.items()}
    return {"operationId": name, "summary": summary, "parameters": list(parameters), "responses": answers}


def _failed(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": reference("Error")}}}


def _range(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


def _query(name: str, schema: Schema, description: str = "", *, required: bool = False) -> dict[str, Any]:
    told = {"description": description} if description else {}
    return {"name": name, "in": "query", "required": required, "schema": schema, **told}


def _path(name: str, schema: Schema) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {**schema, "minLength": 1}}


def _repeated(name: str, pattern: str, limits: Limits, description: str) -> dict[str, Any]:
    item: Schema = {"type": "string", "maxLength": limits.question} | ({"pattern": pattern} if pattern else {})
    array = {"type": "array", "items": item, "maxItems": limits.filters}
    return {**_query(name, array, description), "style": "form", "explode": True}
