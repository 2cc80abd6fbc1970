"""What is typed into the box of Discover, read into conditions and written back.

    lighthouse "gold dome"        words; in quotes one after the other. The last letter may be the first of more
    -draft                        not this
    title:alps text:snow          words in one place
    lang:en  author:"Ada King"    metadata, just this value; `metadata.title:x` where a key has the name of a field
    start:lighthouse>0.8          a feature and its weight; end: and lex: too; >= < <= as well
    folder:notes/alps document:x  where it is from

What cannot be read is a `GrammarError`, which says where it stands.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..errors import UsageError
from ..records import FIELDS
from ..stored import METADATA, Condition, Listing

PLACES: Final = ("text", "title", "folder", "document")
"""Fields besides features and metadata."""

_TERM = re.compile(r"""(?P<not>-?)(?:(?P<key>"[^"]*"|[^\s":<>]+):)?(?P<value>"[^"]*"|[^\s"]*)(?P<limit>[<>]=?\S*)?""")
_VALUE_AND_LIMIT = re.compile(r"(?P<value>[^<>]*)(?P<limit>[<>].*)?")
_LIMIT = re.compile(r"(?P<sign>[<>]=?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_PLAIN = re.compile(r'[^\s":<>-][^\s":<>]*')


class GrammarError(UsageError):
    """Something in the box that cannot be read, and where: `at` is its first character, `until` the one after it."""

    def __init__(self, message: str, remedy: str, at: int, until: int) -> None:
        super().__init__(message, remedy)
        self.at, self.until = at, until


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the box, as it is written, and what it means."""

    condition: Condition
    limit: str = ""
    """Of the weight of a feature: `>0.8`."""

    def __str__(self) -> str:
        return written(self.condition, self.limit)


def read(text: str, keys: Collection[str]) -> tuple[Term, ...]:
    """The terms of a text; `keys` are those of the metadata of the index."""
    found, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TERM.match(text, at)
        assert match
        until = match.end()
        if until == at or (until < len(text) and not text[until].isspace()):
            end = next((place for place in range(max(until, at), len(text)) if text[place].isspace()), len(text))
            message = "a quotation mark is missing" if text.count('"', at, len(text)) % 2 else "this cannot be read"
            raise GrammarError(message, 'write "two words" in quotes', at, end)
        found.append(_term(match, keys))
        at = until
    return tuple(dict.fromkeys(found))


def _term(match: re.Match[str], keys: Collection[str]) -> Term:
    key, value, limit = (match["key"] or "").strip('"'), match["value"], match["limit"] or ""
    quoted, negated = value.startswith('"'), bool(match["not"])
    if key in FIELDS and not quoted:
        parts = _VALUE_AND_LIMIT.fullmatch(value + limit)
        assert parts
        value, limit = parts["value"], parts["limit"] or ""
    elif key not in FIELDS and not quoted:
        value, limit = value + limit, ""
    value = value.strip('"') if quoted else value
    if not value.strip():
        example = f"{key}:something" if key else "a word behind it"
        raise GrammarError(f"nothing stands behind {match[0]!r}", f"write {example}", *match.span())
    if key in FIELDS:
        least, below = _limits(match, limit)
        return Term(Condition(key, value, negated, least, below), limit)
    if limit:
        raise GrammarError("only weights have limits", "write start:word>0.8, or end:, or lex:", *match.span())
    # What is written in quotes is read as whole, so whatever has to be written so is whole from the beginning.
    whole = key in ("", "text", "title") and (quoted or _needs_quotes(key, value))
    return Term(Condition(_field(match, key, keys), value, negated, whole=whole))


def _field(match: re.Match[str], key: str, keys: Collection[str]) -> str:
    if not key or key in PLACES:
        return key
    name = key.removeprefix(METADATA)
    if name in keys:
        return METADATA + name
    known = [*FIELDS, *PLACES, *sorted(keys)]
    near = difflib.get_close_matches(key, known, 1)
    other = f"did you mean {near[0]}:? " if near else ""
    remedy = f'{other}Fields are {", ".join(known[:12])}; to look for it as words, write "{match["value"]}" in quotes'
    raise GrammarError(f"there is no field {key!r}", remedy, *match.span("key"))


def _limits(match: re.Match[str], limit: str) -> tuple[float, float | None]:
    """The weights that a limit lets through: at least the first, below the second."""
    if not limit:
        return 0.0, None
    found = _LIMIT.fullmatch(limit)
    if not found:
        remedy = "write a number behind it, as in start:word>0.8"
        raise GrammarError(f"{limit!r} is no limit of a weight", remedy, match.end() - len(limit), match.end())
    number = float(found["number"])
    after = float(np.nextafter(np.float32(number), np.float32(np.inf)))
    return {
        ">": (after, None),
        ">=": (number, None),
        "<": (0.0, number),
        "<=": (0.0, after),
    }[found["sign"]]


def written(condition: Condition, limit: str = "") -> str:
    """A condition as it is typed."""
    field, value = condition.field, condition.value.replace('"', " ")
    key = field.removeprefix(METADATA)
    if field.startswith(METADATA) and (key in PLACES or key in FIELDS):
        key = field
    limit = limit or _limit_of(condition)
    shown = f'"{value}"' if condition.whole or _needs_quotes(field, value) else value
    before = (key if _PLAIN.fullmatch(key) else f'"{key}"') + ":" if field else ""
    return f"{'-' if condition.negated else ''}{before}{shown}{limit}"


def _needs_quotes(field: str, value: str) -> bool:
    """Whether a value would be read otherwise without them."""
    if not value or re.search(r"\s", value) or (field in FIELDS and re.search("[<>]", value)):
        return True
    return not field and (":" in value[1:] or value.startswith("-"))


def _limit_of(condition: Condition) -> str:
    if condition.least > 0:
        return f">={condition.least:g}"
    return "" if condition.below is None else f"<{condition.below:g}"


def terms_of(listing: Listing) -> tuple[Term, ...]:
    """The terms that say the same as a listing."""
    return tuple(Term(condition) for condition in listing.conditions)


def text_of(terms: Collection[Term]) -> str:
    """Terms as they stand in the box."""
    return " ".join(map(str, terms))


def listing_of(terms: Collection[Term], base: Listing) -> Listing:
    """The listing that terms ask for, with the page, size and order of another."""
    conditions = tuple(term.condition for term in terms)
    return Listing(offset=base.offset, size=base.size, order=base.order, more=conditions)


def readable(text: str, keys: Collection[str]) -> tuple[tuple[Term, ...], GrammarError | None]:
    """The terms that can be read, and what is wrong with the first that cannot."""
    try:
        return read(text, keys), None
    except GrammarError as error:
        before, after = text[: error.at].rpartition(" ")[0], text[error.until :].partition(" ")[2]
        return readable(f"{before} {after}".strip(), keys)[0], error
