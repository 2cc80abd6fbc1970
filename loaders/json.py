"""JSON that is not lines: an array of objects is a document each, messages are a chat, anything else is one document.

An object that holds an array of objects and besides only facts about it ({"total": 2, "items": [...]}) is that array.
In a document, an object is a heading over "key: value" items, an array of flat objects a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from . import chat, fields, squad
from .builder import TextBuilder
from .decode import decoded, whole
from .limits import JSON_BYTES
from .resuming import Item, Resuming, located
from .tables import Cell, head_and_rows

_DEEPEST: Final = 40  # levels of objects and arrays within each other


class JsonReader(Reader):
    """JSON: an array of objects (one document each), a chat, SQuAD, or one object."""

    suffixes = (".json",)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The documents of the file; a bad one is one reject, and the next one is read."""
        try:
            value = json.loads(decoded(whole(stream, JSON_BYTES)))
        except (ValueError, RecursionError) as error:
            raise RejectedDocument(f"not JSON: {error}", "for one object a line, use --format jsonl") from error
        return Resuming(_items(value, source, options))


reader = JsonReader()


def _items(value: Any, source: str, options: Mapping[str, str]) -> Iterator[Item]:
    if squad.is_squad(value):
        return squad.items(value["data"], source)
    records = _records(value)
    if messages := chat.messages_of_objects(records):
        return iter(chat.documents(messages, source, {}))
    if records:
        return _record_items(records, source, options)
    if isinstance(value, dict) and fields.has_text(value, options):
        return iter([located("the object", fields.document, value, source, 1, options)])
    return iter([_whole(value, source)])


def _records(value: Any) -> list[Mapping[str, Any]]:
    """The objects of an array that are to be documents; none, if the value as a whole is one."""
    if isinstance(value, dict):
        arrays = [inside for inside in value.values() if isinstance(inside, list) and inside]
        nested = [inside for inside in value.values() if isinstance(inside, dict)]
        if len(arrays) != 1 or nested:
            return []
        value = arrays[0]
    every = isinstance(value, list) and bool(value) and all(isinstance(record, dict) for record in value)
    return value if every else []


def _record_items(records: list[Mapping[str, Any]], source: str, options: Mapping[str, str]) -> Iterator[Item]:
    for number, record in enumerate(records, start=1):
        try:
            make = fields.document if fields.has_text(record, options) else _structured
            yield located(f"object {number}", make, record, source, number, options)
        except RecursionError:
            yield RejectedDocument(f"object {number} is nested too deep", "make it flatter")


def _structured(record: Mapping[str, Any], source: str, number: int, options: Mapping[str, str]) -> Document:
    """A record without a text: all that it holds, and what is flat of it as metadata."""
    if not any(isinstance(value, dict | list) for value in record.values()):
        return fields.listed(record, source, number, options)
    builder = TextBuilder()
    _add(builder, record, 2)
    id, title = fields.named(record, source, number, options)
    flat = {key: value for key, value in record.items() if not isinstance(value, dict)}
    return builder.build(id, source, title, fields.metadata(flat))


def _whole(value: Any, source: str) -> Item:
    builder = TextBuilder()
    try:
        _add(builder, value, 2)
    except RejectedDocument as reject:
        return reject
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    return builder.build(source, source, title if isinstance(title, str) else "")


def _add(builder: TextBuilder, value: Any, level: int, name: str = "") -> None:
    """Add a value, which has a name if it stands in an object."""
    if level > _DEEPEST:
        raise RejectedDocument(f"objects nested more than {_DEEPEST} deep", "make it flatter, or one object a line")
    if isinstance(value, dict):
        if name:
            builder.heading(level - 1, name)
        for key, inside in sorted(value.items(), key=lambda pair: _has_headings(pair[1])):
            _add(builder, inside, level + 1, key)
    elif isinstance(value, list):
        _add_list(builder, value, level, name)
    elif value is not None:
        builder.block(f"{name}: {fields.plain(value)}" if name else fields.plain(value), "item")


def _add_list(builder: TextBuilder, values: list[Any], level: int, name: str) -> None:
    if _is_simple(values) and not (values and isinstance(values[0], dict)):
        words = ", ".join(fields.plain(value) for value in values)
        builder.block(f"{name}: {words}" if name else words, "item")
    elif _is_simple(values):
        keys = list(dict.fromkeys(key for value in values for key in value))
        head = [Cell(key, head=True) for key in keys]
        rows = [[Cell(fields.plain(value.get(key, ""))) for key in keys] for value in values]
        builder.table(*head_and_rows([head, *rows]), name)
    else:
        for number, value in enumerate(values, start=1):
            _add(builder, value, level + 1, f"{name} {number}".strip())


def _has_headings(value: Any) -> bool:
    """Whether a value is written with headings, under which nothing that follows belongs: so it comes last."""
    return isinstance(value, dict) or (isinstance(value, list) and not _is_simple(value))


def _is_simple(values: list[Any]) -> bool:
    """Whether an array is a line or a table."""
    return (
        all(map(_is_flat, values))
        if len(values) > 1 and isinstance(values[0], dict)
        else not any(isinstance(value, dict | list) for value in values)
    )


def _is_flat(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(inside, dict | list) for inside in value.values())
