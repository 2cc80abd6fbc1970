"""Front matter: YAML between two `---`, TOML between two `+++`, at the top of a file, as title and metadata.

Of YAML, what people write there: `key: value` lines, lists in brackets, lists of lines that begin with a dash. A list
is kept as JSON writes it, and a filter compares with each of its values.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from . import fields

_FENCES: Final[Mapping[str, tuple[str, ...]]] = {"---": ("---", "..."), "+++": ("+++",)}
_ITEM: Final = re.compile(r"\s*-\s+(.*)")
_IN_LIST: Final = re.compile(r"""\s*+(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+)""")
_COMMENT: Final = re.compile(r"(?<!\s)\s+#.*$")  # tried once for each gap, not once for each blank in it


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """What the front matter says, and what comes after it. One that cannot be read is text like any other."""
    lines = text.splitlines(keepends=True)
    ends = _FENCES.get(lines[0].strip() if lines else "")
    for number, line in enumerate(lines[1:] if ends else (), start=1):
        if ends and line.strip() in ends:
            found = _toml("".join(lines[1:number])) if ends == ("+++",) else dict(_yaml(lines[1:number]))
            return ({}, text) if found is None else (fields.metadata(found), "".join(lines[number + 1 :]))
    return {}, text


def _toml(text: str) -> dict[str, Any] | None:
    try:
        return dict(_flat(tomllib.loads(text)))
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Keys of a table within a table have its name before them."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key.lower()}.")
        else:
            yield f"{before}{key.lower()}", value if isinstance(value, str | int | float | list) else str(value)


def _yaml(lines: Sequence[str]) -> Iterator[tuple[str, object]]:
    key, items = "", list[str]()
    for line in lines:
        if (item := _ITEM.match(line)) and key:
            items.append(_scalar(item[1]))
            continue
        if items:
            yield key, items
        key, items = "", []
        name, colon, value = line.partition(":")
        if not colon or line[0].isspace() or not name.strip():
            continue
        name, value = name.strip().lower(), value.strip()
        if value.startswith("[") and value.endswith("]"):
            yield name, _list(value[1:-1])
        elif value and not value.startswith("#"):
            yield name, _scalar(value)
        else:
            key = name
    if items:
        yield key, items


def _list(text: str) -> list[str]:
    return [value for match in _IN_LIST.finditer(text) if (value := _scalar(match[0]))]


def _scalar(text: str) -> str:
    """A value without its quotation marks, or without the comment behind it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return _COMMENT.sub("", text)
