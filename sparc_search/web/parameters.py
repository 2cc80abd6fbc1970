"""Parameters of an address. Each is declared once: from that it is parsed, strictly, and described to OpenAPI."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from starlette.datastructures import QueryParams

from .limits import WebLimits
from .problems import HttpProblem, in_words, invalid
from .schemas import Schema

Value = TypeVar("Value")
Default = TypeVar("Default")
Pairs = tuple[tuple[str, str], ...]

_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_NUMBER: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")
_OFFSETS: Final = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")
_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}
_ANYTHING: Final = "(.|\\n|\\r)+"
# Something must be left when control characters and white space are taken away.
_SAYING_SOMETHING: Final = "[^\\s\\u0000-\\u001f\\u007f-\\u009f]"


@dataclass(frozen=True, slots=True)
class Parameter(Generic[Value]):
    """What stands behind one name: `read` makes a value of its text, or raises ValueError or KeyError."""

    name: str
    schema: Schema
    read: Callable[[str], Value]
    remedy: str = ""
    help: str = ""
    required: bool = False
    repeated: bool = False

    def value(self, text: str, shown: str = "") -> Value:
        """What a text means; `HttpProblem` if nothing."""
        try:
            return self.read(text)
        except (ValueError, KeyError):
            raise invalid(self.name, f"{self.name!r} is {shown or repr(text[:40])}", self.remedy) from None

    def described(self, limits: WebLimits) -> dict[str, Any]:
        """The parameter as OpenAPI describes it."""
        told: dict[str, Any] = {"name": self.name, "in": "query", "required": self.required, "schema": self.schema}
        if self.repeated:
            several = {"type": "array", "items": self.schema, "maxItems": limits.filters}
            told |= {"schema": several, "style": "form", "explode": True}
        return told | ({"description": self.help} if self.help else {})


def text(name: str, limits: WebLimits, help: str = "", *, repeated: bool = False) -> Parameter[str]:
    """Some text. How long it may be is seen to in `Parameters`, for every parameter."""
    return Parameter(name, {"type": "string", "maxLength": limits.question}, str, help=help, repeated=repeated)


def question(name: str, limits: WebLimits) -> Parameter[str]:
    """A text that says something."""
    plain = text(name, limits)
    return replace(plain, schema={**plain.schema, "minLength": 1, "pattern": _SAYING_SOMETHING}, required=True)


def integer(name: str, least: int, most: int, help: str = "") -> Parameter[int]:
    """A whole number in a range."""

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
            raise ValueError
        return int(text)

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, schema, read, f"give a whole number from {least} to {most}", help)


def number(name: str, most: float, help: str) -> Parameter[float]:
    """A number from zero on."""

    def read(text: str) -> float:
        if not _NUMBER.fullmatch(text) or float(text) > most or not math.isfinite(float(text)):
            raise ValueError
        return float(text)

    return Parameter(
        name, {"type": "number", "minimum": 0, "maximum": most}, read, f"give a number from 0 to {most:g}", help
    )


def choice(name: str, choices: Mapping[str, Value], help: str = "") -> Parameter[Value]:
    """One of some words, each with what it means."""
    remedy = f"choose one of: {', '.join(choices)}"
    return Parameter(name, {"enum": list(choices)}, lambda text: choices[text], remedy, help)


def reading(name: str, most: int, help: str) -> Parameter[str]:
    """How many passages are read again: never, auto, or a number."""
    values = {value: value for value in ("never", "auto", *map(str, range(1, most + 1)))}
    return replace(choice(name, values, help), remedy=f"give never, auto, or a number from 1 to {most}")


def flag(name: str, help: str) -> Parameter[bool]:
    """Yes or no."""
    return replace(choice(name, _FLAGS, help), schema={"type": "boolean"})


def offsets(name: str, help: str) -> Parameter[tuple[int, int] | None]:
    """Two character offsets, `12-17`; empty for none."""

    def read(text: str) -> tuple[int, int] | None:
        if text and not _OFFSETS.fullmatch(text):
            raise ValueError
        first, _, last = text.partition("-")
        return (int(first), int(last)) if text else None

    schema = {"type": "string", "pattern": f"^({_OFFSETS.pattern})?$"}
    return Parameter(name, schema, read, "give two character offsets, such as 12-17", help)


def pairs(name: str, limits: WebLimits, help: str) -> Parameter[tuple[str, str]]:
    """Repeated `key=value`."""
    return _pairs(name, limits, help, "=", "[^=]+", ())


def features(name: str, limits: WebLimits, help: str, fields: Sequence[str]) -> Parameter[tuple[str, str]]:
    """Repeated `field:name`."""
    return _pairs(name, limits, help, ":", f"({'|'.join(fields)})", fields)


def _pairs(
    name: str, limits: WebLimits, help: str, mark: str, key: str, keys: Sequence[str]
) -> Parameter[tuple[str, str]]:
    def read(text: str) -> tuple[str, str]:
        first, _, rest = text.partition(mark)
        if not first or not rest:
            raise ValueError
        if keys and first not in keys:
            raise invalid(name, f"there is no field {first[:40]!r}", f"write field:name, with one of {', '.join(keys)}")
        return first, rest

    schema = {"type": "string", "maxLength": limits.question, "pattern": f"^{key}{mark}{_ANYTHING}$"}
    return Parameter(name, schema, read, f"write it as key{mark}value", help, repeated=True)


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a field of a page, in words, and what stands in it."""

    message: str
    given: str = ""


class Parameters:
    """What stands behind the question mark. With `known`, anything else there is an error."""

    def __init__(self, query: QueryParams, limits: WebLimits, known: Sequence[Parameter[Any]] | None = None) -> None:
        self._query, self._limits, self._strict = query, limits, known is not None
        self.wrong: dict[str, Wrong] = {}
        """On a page: what could not be read, by parameter. It is shown beside its field, and left out."""
        names = [parameter.name for parameter in known or ()]
        for name in query if self._strict else ():
            if name not in names:
                raise invalid(name, f"there is no parameter {name[:40]!r}", f"known are: {', '.join(names)}")

    def one(self, parameter: Parameter[Value], default: Default) -> Value | Default:
        """The value of a parameter that may be there once."""
        values = self._query.getlist(parameter.name)
        read: Value | Default = default
        with self.on_a_page(parameter.name, values):
            if len(values) > 1:
                raise invalid(parameter.name, f"{parameter.name!r} is given twice", "give it once")
            if values:
                read = parameter.value(short(parameter.name, values[0], self._limits))
        return read

    def each(self, parameter: Parameter[Value]) -> tuple[Value, ...]:
        """The values of a repeated one, each once; on a page empty ones (an input left blank) are passed over."""
        name, most = parameter.name, self._limits.filters
        values = [value for value in self._query.getlist(name) if value or self._strict]
        with self.on_a_page(name):
            if len(values) > most:
                raise invalid(name, f"{name!r} is given {len(values)} times", f"at most {most} are taken")
        read = []
        for value in dict.fromkeys(values[:most]):
            with self.on_a_page(name, (value,)):
                read.append(parameter.value(short(name, value, self._limits)))
        return tuple(read)

    @contextmanager
    def on_a_page(self, name: str, given: Sequence[str] = ()) -> Iterator[None]:
        """Keep a problem to be shown beside its field, unless it is an answer of its own."""
        try:
            yield
        except HttpProblem as problem:
            if self._strict:
                raise
            self.wrong[name] = Wrong(in_words(problem), given[0] if given else "")


def short(name: str, value: str, limits: WebLimits) -> str:
    """A text that is no longer than a question may be."""
    if len(value) > limits.question:
        raise invalid(name, f"{name!r} has {len(value):,} characters", f"at most {limits.question:,} are taken")
    return value
