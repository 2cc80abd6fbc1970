r"""What the author of a LaTeX file named: \newcommand, \def and their kin are put in where they are used.

This is not TeX: a macro is known from where it is defined to the end of the file, a definition is not run but taken by
its letters, and one that takes its arguments in a way of its own (\def\x#1.{…}) is left alone. What must not be read as
LaTeX at all, \verb|…| and the address of \url, is hidden behind characters that no text has, and shown in the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

AS_IT_IS: Final = frozenset(("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt"))
"""Environments whose text is code."""

_ARGUMENT: Final = 2_000  # characters of an argument; a brace that is never closed must not be looked for for ever
_DEEPEST: Final = 20  # macros within what macros stand for: one that names itself has no end
_GROWTH: Final = 2_000_000  # characters that all macros of a file may add; what is used after that stays a command
_USE: Final = 100  # characters that a use counts for besides: the end of its arguments must be looked for
_SPECIAL: Final = "\\{}$&#_%^~-'`[]\""
_HIDDEN: Final = {ord(character): 0xFDD0 + place for place, character in enumerate(_SPECIAL)}  # never in a text
_SHOWN: Final = {hidden: character for character, hidden in _HIDDEN.items()}
_PLACE: Final = re.compile(
    rf"(?P<code>\\begin\{{(?P<name>{'|'.join(map(re.escape, sorted(AS_IT_IS)))}|comment)\}})"
    r"|\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,400}\])?)(?P<mark>[^A-Za-z\s*\[{])(?P<verb>[^\n]{0,400}?)(?P=mark)"
    r"|\\(?:url|path)\s*\{(?P<url>[^{}\s]{0,2000})\}"
    r"|(?P<href>\\href)\s*\{[^{}\s]{0,2000}\}"
    r"|\\(?P<define>newcommand|renewcommand|providecommand|DeclareRobustCommand|DeclareMathOperator)\*?(?![A-Za-z])"
    r"|\\[gex]?(?P<def>def)(?![A-Za-z])"
    r"|\\(?P<macro>[A-Za-z]+)|\\.|(?P<comment>%[^\n]*)",
    re.DOTALL,
)
_NAME: Final = re.compile(r"\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))")
_COUNT: Final = re.compile(r"\s*\[([0-9])\]")
_DEFAULT: Final = re.compile(r"\s*\[([^\[\]{}]{0,400})\]")
_PARAMETERS: Final = re.compile(r"((?:#[1-9])*)(?=\{)")
_PLACED: Final = re.compile(r"#(?:([1-9])|#)")


@dataclass(frozen=True, slots=True)
class _Macro:
    """What a name stands for."""

    text: str
    arguments: int = 0
    default: str | None = None
    """Of the first argument, which then stands in brackets or is left out."""


class Macros:
    """The macros of one file, as far as it was read."""

    def __init__(self) -> None:
        self._known: dict[str, _Macro] = {}
        self._left = _GROWTH

    def expanded(self, text: str, depth: int = 0) -> str:
        """A text without definitions, and with what they stand for."""
        parts, at = list[str](), 0
        while match := _PLACE.search(text, at):
            parts.append(text[at : match.start()])
            at = match.end()
            if match["code"]:
                end = text.find(f"\\end{{{match['name']}}}", at)
                at = len(text) if end < 0 else end
                parts.append(text[match.start() : at])
            elif match["mark"] or match["url"]:
                parts.append(hidden(match["verb"] if match["mark"] else match["url"]))
            elif match["href"]:
                continue  # the words of the link follow
            elif match["define"] or match["def"]:
                at = self._define(text, at, plain=bool(match["def"]))
            elif (macro := self._known.get(match["macro"] or "")) and depth < _DEEPEST and self._left > 0:
                said, at = _said(macro, text, at)
                self._left -= len(said) + _USE
                parts.append(self.expanded(said, depth + 1))
            else:
                parts.append(match[0])
        return "".join([*parts, text[at:]])

    def _define(self, text: str, at: int, plain: bool) -> int:
        """Remember the macro that is defined here; where to go on."""
        name = _NAME.match(text, at)
        if not name:
            return at
        at = name.end()
        count, default = 0, None
        if plain:
            parameters = _PARAMETERS.match(text, at)
            if not parameters:
                return at
            count, at = len(parameters[1]) // 2, parameters.end()
        elif number := _COUNT.match(text, at):
            count, at = int(number[1]), number.end()
            if first := _DEFAULT.match(text, at):
                default, at = first[1], first.end()
        body, at = argument(text, at)
        self._known[name[1] or name[2]] = _Macro(body, count, default)
        return at


def hidden(text: str) -> str:
    """A text in which nothing is a command or a mark of LaTeX any more."""
    return text.translate(_HIDDEN)


def shown(text: str) -> str:
    """A text whose commands are gone, with the characters that were hidden from them."""
    return text.translate(_SHOWN)


def argument(text: str, at: int) -> tuple[str, int]:
    """The text in the braces that begin here, and where it ends; nothing if none begin."""
    while at < len(text) and text[at].isspace():
        at += 1
    if not text.startswith("{", at):
        return "", at
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at, min(len(text), at + _ARGUMENT)):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return text[at + 1 : match.start()], match.end()
    return "", at + 1


def _said(macro: _Macro, text: str, at: int) -> tuple[str, int]:
    """What a macro says here with the arguments that follow it, and where they end."""
    values = list[str]()
    if macro.default is not None:
        given = _DEFAULT.match(text, at)
        values.append(given[1] if given else macro.default)
        at = given.end() if given else at
    while len(values) < macro.arguments:
        value, at = _taken(text, at)
        values.append(value)
    said = _PLACED.sub(lambda place: _value(values, place[1]), macro.text)
    return said, at


def _value(values: list[str], number: str | None) -> str:
    if number is None:
        return "#"
    return values[int(number) - 1] if int(number) <= len(values) else ""


_ONE: Final = re.compile(r"\s*(\\[A-Za-z@]+|\\.|[^\s{}\\])", re.DOTALL)


def _taken(text: str, at: int) -> tuple[str, int]:
    """An argument: what stands in braces, else a single character or command."""
    one = _ONE.match(text, at)
    return (one[1], one.end()) if one else argument(text, at)
