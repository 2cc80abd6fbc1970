"""Errors as they leave the server: typed, with a remedy, and without a trace of its inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException

from sparc_search import errors

STATUS: Final[Mapping[type[errors.SparcSearchError], tuple[int, str]]] = {
    errors.NotThere: (404, "not_there"),
    errors.UsageError: (422, "usage"),
    errors.IndexFailure: (503, "index_unavailable"),
    errors.EngineError: (503, "engine_unavailable"),
}
"""What each kind of error is over HTTP; a kind that is not listed is the server's own fault."""


@dataclass(eq=False)
class HttpProblem(Exception):
    """An answer that is an error."""

    status: int
    type: str
    message: str
    remedy: str = ""
    parameter: str = field(default="", kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def as_json(self) -> dict[str, Any]:
        """The body of the answer."""
        optional = {"remedy": self.remedy, "parameter": self.parameter}
        said = {name: text for name, text in optional.items() if text}
        return {"error": {"status": self.status, "type": self.type, "message": self.message, **said}}

    def __str__(self) -> str:
        return self.message


def invalid(parameter: str, message: str, remedy: str = "") -> HttpProblem:
    """A parameter that is not what it must be."""
    return HttpProblem(422, "invalid_parameter", message, remedy, parameter=parameter)


def conflicting(parameter: str, message: str, remedy: str) -> HttpProblem:
    """Parameters that are right one by one but exclude each other."""
    return HttpProblem(409, "conflict", message, remedy, parameter=parameter)


def come_again(status: int, type: str, message: str, seconds: int) -> HttpProblem:
    """Something that may be tried again later."""
    remedy = f"try again in {seconds} second{'s' * (seconds > 1)}"
    return HttpProblem(status, type, message, remedy, headers={"Retry-After": str(seconds)})


_FIELDS: Final[Mapping[str, str]] = {
    "where": "A filter is a key of the metadata, an equals sign and a value, such as lang=en.",
    "phrase": "That does not stand in the passage. Write it as it stands there, or choose a word of the text.",
    "min": "The least weight is a number from 0 to 1000, such as 0.5.",
}
"""What is said beside a field of a page."""
_REMEDIES: Final[Mapping[str, str]] = {
    "not_there": "Discover lists what there is.",
    "index_unavailable": "Whoever runs this server can put it right; then load this page again.",
    "engine_unavailable": "Try again in a moment.",
    "not_found": "The pages are named above.",
}
"""What is said on a page, where the remedy of an error may be a command."""


def in_words(problem: HttpProblem) -> str:
    """A problem as it is told beside a field of a page."""
    if problem.type == "invalid_parameter" and problem.parameter in _FIELDS:
        return _FIELDS[problem.parameter]
    remedy = _REMEDIES.get(problem.type, "") if _is_command(problem.remedy) else problem.remedy
    told = f"{problem.message}: {remedy.removesuffix('.')}" if remedy else problem.message
    return f"{told[:1].upper()}{told[1:]}."


def page_remedy(problem: HttpProblem) -> str:
    """What to do about an error, for whoever looks at a page."""
    told = _REMEDIES.get(problem.type, problem.remedy)
    return "" if _is_command(told) else told


def _is_command(remedy: str) -> bool:
    return "--" in remedy or "sparc-search " in remedy


def problem_of(error: Exception) -> HttpProblem:
    """Any error as an answer; of one that was not foreseen nothing is told."""
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, HTTPException):
        known = HTTPStatus(error.status_code)
        remedy = "see /openapi.json for what there is" if known == HTTPStatus.NOT_FOUND else ""
        return HttpProblem(known, known.name.lower(), known.phrase, remedy, headers=error.headers or {})
    for kind, (status, type) in STATUS.items():
        if isinstance(error, kind):
            assert isinstance(error, errors.SparcSearchError)
            headers = {"Retry-After": "5"} if status == 503 else {}
            return HttpProblem(status, type, error.message, error.remedy, headers=headers)
    return HttpProblem(500, "internal", "something went wrong here", "the server's log has the details")
