"""The description of the API (OpenAPI 3.1), served at /openapi.json. Limits are those of the running server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from sparc_search import inspection
from sparc_search.inspection.discover import Completion

from . import examples
from .api import DocumentView, ReplyView
from .limits import WebLimits
from .parameters import Parameter
from .replies import StrictJSON
from .requests import ApiParameters
from .schemas import Schema, Schemas, exactly, reference
from .state import state_of

V1: Final = "/api/v1"
"""Before every path of the API, as long as programs that use it need not change."""
_TEXT: Final[Schema] = {"type": "string"}
_INTEGER: Final[Schema] = {"type": "integer"}

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


TAGGED: Final = frozenset(
    ("ask", "search", "question", "score", "passage", "document", "feature", "suggest", "complete", "discover")
)
"""Operations whose answers carry an ETag: they depend on the state of the index and on nothing else."""


async def document(request: Request) -> Response:
    """`GET /openapi.json`."""
    return StrictJSON(described(state_of(request).parameters))


def described(known: ApiParameters) -> dict[str, Any]:
    """The whole description."""
    schemas = Schemas()
    paths = _paths(known, schemas)
    schemas.components["Error"] = exactly({"error": _error()})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sparc-search",
            "version": version("sparc-search"),
            "description": "Answers questions from an index, and shows every weight behind an answer. "
            f"No string of an answer is longer than {known.limits.string:,} characters; "
            "a longer one is cut and ends in `…`. Paths of 0.1, without `/v1`, answer as before.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _error() -> Schema:
    texts = dict.fromkeys(("type", "message", "remedy", "parameter"), _TEXT)
    return exactly({"status": _INTEGER, **texts}, optional=("remedy", "parameter"))


def _paths(known: ApiParameters, schemas: Schemas) -> dict[str, Any]:
    of, reply, listing = schemas.of, _reply(schemas), _listing(schemas)
    row: Schema = {"type": "object", "required": ["id"], "additionalProperties": True}
    served: dict[str, Schema] = {
        "index": {"type": ["string", "null"]},
        "generation": {"type": ["integer", "null"]},
        "behind": {"type": "boolean"},
    }
    alive = exactly({"status": _TEXT, **served}, optional=("behind",))
    ready = exactly({"status": _TEXT, "passages": _INTEGER, "snapshot": _INTEGER})
    phrase = "A passage with its weights, and those of one phrase of it (token, phrase or span)."
    across = "An n-gram across the index."
    text = "A document as it was added, and a part of its text."
    weights = "The weights of a question, without answering it."
    fitting = "Features, metadata and titles that fit what someone types."
    trying = "The phrases and weights of any text, with the model of the index; nothing of it is stored."
    going_on = "How what is typed into the box of Discover may go on."
    completions = exactly({"completions": {"type": "array", "items": of(Completion)}})
    scored = "The exact score of any span of a passage, and what pays for it."
    why = "Two phrases side by side, and why one stands before the other."
    download = "All rows of a listing, as a file."
    operations: tuple[tuple[str, str, str, Sequence[Parameter[Any]], Schema | None], ...] = (
        (f"{V1}/ask", "ask", "Answer a question.", known.ask, reply),
        (f"{V1}/search", "search", "Passages, sentences or documents that fit a query.", known.search, reply),
        (f"{V1}/question", "question", weights, (known.q,), of(inspection.QuestionView)),
        (f"{V1}/passages/{{id}}", "passage", phrase, known.passage, of(inspection.PassageView)),
        (f"{V1}/documents/{{id}}", "document", text, known.document_text, of(DocumentView)),
        (
            f"{V1}/features/{{name}}",
            "feature",
            across,
            known.feature,
            of(inspection.FeatureView),
        ),
        (f"{V1}/score", "score", scored, known.score, of(inspection.ScoredPhrase)),
        (f"{V1}/why", "why", why, known.why, of(inspection.WhyView)),
        (f"{V1}/index", "index", "The index as a whole.", (), of(inspection.IndexView)),
        (f"{V1}/suggest", "suggest", fitting, known.suggest, of(inspection.Suggestions)),
        (f"{V1}/complete", "complete", going_on, known.complete, completions),
        (f"{V1}/discover", "discover", "Passages or documents, one page of them.", known.listing, listing),
        (f"{V1}/discover/download.json", "download_json", download, known.listing, {"type": "array", "items": row}),
        (f"{V1}/discover/download.csv", "download_csv", download, known.listing, None),
        ("/healthz", "healthz", "The process is alive, and which state of the index it serves.", (), alive),
        ("/readyz", "readyz", "The index can be read.", (), ready),
    )
    paths: dict[str, Any] = {}
    for path, name, summary, parameters, schema in operations:
        told = [*_in_path(path, known.limits), *(parameter.described(known.limits) for parameter in parameters)]
        told = [_with_example(parameter) for parameter in told]
        paths[path] = {"get": _operation(name, summary, told, schema, tagged=name in TAGGED)}
    paths[f"{V1}/ask"]["post"] = _batch(known, reply)
    fields = {parameter.name: parameter.schema for parameter in known.trying}
    body = exactly(fields, optional=fields.keys() - {"text"})
    operation = _operation("try", trying, [], of(inspection.PassageView))
    paths[f"{V1}/try"] = {"post": _with_body(operation, body, examples.TEXT, known.limits)}
    return paths


def _with_example(parameter: dict[str, Any]) -> dict[str, Any]:
    example = examples.PARAMETERS.get(parameter["name"])
    return parameter if example is None else parameter | {"example": example}


def _in_path(path: str, limits: WebLimits) -> list[dict[str, Any]]:
    """The parameters that are a part of the path itself."""
    schema = {"type": "string", "maxLength": limits.question, "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in re.findall("{(.*?)}", path)]


def _batch(known: ApiParameters, reply: Schema) -> dict[str, Any]:
    body = exactly(known.batch, optional=set(known.batch) - {"questions"})
    replies = exactly({"replies": {"type": "array", "items": reply}})
    return _with_body(_operation("ask_many", "Answer many questions.", [], replies), body, examples.BATCH, known.limits)


def _with_body(
    operation: dict[str, Any], body: Schema, example: Mapping[str, Any], limits: WebLimits
) -> dict[str, Any]:
    content = {"application/json": {"schema": body, "example": example}}
    operation["requestBody"] = {"required": True, "content": content}
    operation["responses"] |= {
        "400": _failed("The body is not a JSON object."),
        "413": _failed(f"The body has more than {limits.body:,} bytes."),
        "415": _failed("The body is not sent as application/json."),
    }
    return operation


def _reply(schemas: Schemas) -> Schema:
    """What `/api/ask` answers; `parts` and `explanation` are there if they were asked for."""
    reply = schemas.of(ReplyView)
    schemas.components["ExplainedAnswer"]["required"].remove("parts")
    schemas.components["ReplyView"]["required"].remove("explanation")
    return reply


def _listing(schemas: Schemas) -> Schema:
    """A page of passages or of documents."""
    passages, documents = map(schemas.properties, (inspection.PassagesPage, inspection.DocumentsPage))
    more: dict[str, Schema] = {"of": {"enum": ["passages", "documents"]}, "opensearch_query": {"type": "object"}}
    return exactly(passages | documents | more, optional=passages.keys() ^ documents.keys())


def _operation(
    name: str, summary: str, parameters: Sequence[Mapping[str, Any]], schema: Schema | None, *, tagged: bool = False
) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}} if schema else {"text/csv": {"schema": _TEXT}}
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": content}}
    answers |= {"304": {"description": "The answer of the given ETag still holds."}} if tagged else {}
    answers |= {str(status): _failed(text) for status, text in ERRORS.items()}
    return {"operationId": name, "summary": summary, "parameters": list(parameters), "responses": answers}


def _failed(text: str) -> dict[str, Any]:
    return {
        "description": text,
        "content": {"application/json": {"schema": reference("Error"), "example": examples.ERROR}},
    }
