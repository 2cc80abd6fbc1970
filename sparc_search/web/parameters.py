"""The parameters of an address, each parsed strictly: what is not understood is an error that names it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Final

from starlette.datastructures import QueryParams

from .limits import Limits
from .problems import invalid

Pairs = tuple[tuple[str, str], ...]

_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_NUMBER: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")
_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}


class Parameters:
    """What stands behind the question mark. With `known`, anything else there is an error."""

    def __init__(self, query: QueryParams, limits: Limits, known: Collection[str] | None = None) -> None:
        self._query = query
        self._limits = limits
        self._strict = known is not None
        for name in query:
            if known is not None and name not in known:
                raise invalid(name, f"there is no parameter {name[:40]!r}", f"known are: {', '.join(known)}")

    def text(self, name: str) -> str:
        """Some text, empty if it is not there."""
        values = self._query.getlist(name)
        if len(values) > 1:
            raise invalid(name, f"{name!r} is given twice", "give it once")
        return self.short(name, values[0]) if values else ""

    def short(self, name: str, value: str) -> str:
        """A text that is no longer than a question may be."""
        if len(value) > self._limits.question:
            most = self._limits.question
            raise invalid(name, f"{name!r} has {len(value):,} characters", f"at most {most:,} are taken")
        return value

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number in a range."""
        found = self.optional_integer(name, least, most)
        return default if found is None else found

    def optional_integer(self, name: str, least: int, most: int) -> int | None:
        """A whole number, if it is there."""
        if name not in self._query:
            return None
        value = self.text(name)
        if not _INTEGER.fullmatch(value) or not least <= int(value) <= most:
            raise invalid(name, f"{name!r} is {value[:40]!r}", f"give a whole number from {least} to {most}")
        return int(value)

    def number(self, name: str, default: float, most: float) -> float:
        """A number from zero on."""
        if name not in self._query:
            return default
        value = self.text(name)
        if not _NUMBER.fullmatch(value) or float(value) > most or not math.isfinite(float(value)):
            raise invalid(name, f"{name!r} is {value[:40]!r}", f"give a number from 0 to {most:g}")
        return float(value)

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        """One of some words."""
        if name not in self._query:
            return default
        value = self.text(name)
        if value not in choices:
            raise invalid(name, f"{name!r} is {value[:40]!r}", f"choose one of: {', '.join(choices)}")
        return value

    def flag(self, name: str) -> bool:
        """Yes or no."""
        return _FLAGS[self.choice(name, tuple(_FLAGS), "false")]

    def texts(self, name: str) -> tuple[str, ...]:
        """Every one of a repeated parameter, once; on a page empty ones (an input left blank) are passed over."""
        values = tuple(dict.fromkeys(value for value in self._query.getlist(name) if value or self._strict))
        if len(values) > self._limits.filters:
            raise invalid(name, f"{name!r} is given {len(values)} times", f"at most {self._limits.filters} are taken")
        return tuple(self.short(name, value) for value in values)

    def pairs(self, name: str, mark: str = "=") -> Pairs:
        """Repeated `key=value` (or, of features, `field:name`)."""
        return tuple(self._pair(name, value, mark) for value in self.texts(name))

    def _pair(self, name: str, value: str, mark: str) -> tuple[str, str]:
        key, found, rest = value.partition(mark)
        if not found or not key or not rest:
            raise invalid(name, f"{name!r} is {value[:40]!r}", f"write it as key{mark}value")
        return key, rest
