"""A record (an object of JSONL, a row of a table) becomes a document.

Known without flags: our own `id, title, text, metadata`, BEIR `_id, title, text`, pyserini `id, contents`, DPR
`id, text, title`. Whatever else the record holds is kept as metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from sparc_search.errors import RejectedDocument
from sparc_search.records import Document

from .builder import TextBuilder, title_from_name
from .limits import METADATA_CHARACTERS

ID: Final = ("id", "_id", "docid", "doc_id")
TEXT: Final = ("text", "contents", "content", "body")
TITLE: Final = ("title",)


def document(record: Mapping[str, object], source: str, number: int, options: Mapping[str, str]) -> Document:
    """The document in a record; without an id of its own it is known as `source#number`."""
    id_field = _field(record, options, "id-field", ID)
    title_field = _field(record, options, "title-field", TITLE)
    text_field = _field(record, options, "text-field", TEXT)
    if not text_field:
        raise RejectedDocument(f"no text: the fields are {_listed(record)}", "name the right one with --text-field")
    used = {id_field, title_field, text_field}
    return Document(
        id=_id(record.get(id_field)) or f"{source}#{number}",
        text=_text(record, text_field),
        title=_text(record, title_field).strip() if title_field else "",
        source=source,
        metadata=metadata({key: value for key, value in record.items() if key not in used}),
    )


def has_text(record: Mapping[str, object], options: Mapping[str, str]) -> bool:
    """Whether a record has a field that is its text."""
    return bool(options.get("text-field")) or any(isinstance(record.get(name), str) for name in TEXT)


def listed(record: Mapping[str, object], source: str, number: int, options: Mapping[str, str]) -> Document:
    """The document of a record without a text: a line "column: value" for each column, and all of them as metadata."""
    id_field = _field(record, options, "id-field", ID)
    title_field = _field(record, options, "title-field", TITLE)
    builder = TextBuilder()
    values = {key: value for key, value in record.items() if value not in (None, "") and key != title_field}
    for key, value in values.items():
        builder.block(f"{key}: {plain(value)}", "item")
    id, title = named(record, source, number, options)
    return builder.build(id, source, title, metadata({key: value for key, value in values.items() if key != id_field}))


def named(record: Mapping[str, object], source: str, number: int, options: Mapping[str, str]) -> tuple[str, str]:
    """Id and title of a record, which need not have them."""
    id_field = _field(record, options, "id-field", ID)
    title_field = _field(record, options, "title-field", TITLE)
    title = (_text(record, title_field).strip() if title_field else "") or title_from_name(source)
    return _id(record.get(id_field)) or f"{source}#{number}", title


def _field(record: Mapping[str, object], options: Mapping[str, str], option: str, known: tuple[str, ...]) -> str:
    if wanted := options.get(option):
        if wanted in record:
            return wanted
        raise RejectedDocument(f"no field {wanted!r}: the fields are {_listed(record)}", f"correct --{option}")
    return next((name for name in known if name in record), "")


def _id(value: object) -> str:
    if isinstance(value, bool | float) or (value is not None and not isinstance(value, str | int)):
        raise RejectedDocument(f"its id is {_shown(value)}", "an id must be text or a whole number")
    return "" if value is None else str(value).strip()


def _text(record: Mapping[str, object], name: str) -> str:
    value = record[name]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RejectedDocument(f"field {name!r} is not text but {_shown(value)}", "name the right field with a flag")
    return value


def metadata(rest: Mapping[str, object]) -> dict[str, str]:
    """Metadata as it is stored: text, without what is empty or too long to be asked for."""
    nested = rest.get("metadata")
    pairs = {**(nested if isinstance(nested, dict) else {}), **rest}
    if isinstance(nested, dict):
        del pairs["metadata"]
    kept = {str(key): plain(value) for key, value in pairs.items() if value is not None}
    return {key: value for key, value in kept.items() if len(value) <= METADATA_CHARACTERS}


def plain(value: object) -> str:
    """Text as it is; everything else as JSON writes it, so that `true` and `1.5` can be asked for."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _listed(record: Mapping[str, object]) -> str:
    return ", ".join(map(repr, list(record)[:20])) or "none"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
