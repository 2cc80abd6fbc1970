"""Documents of an index as lines of JSON: for other programs to read, and, with blocks, for another index to take over.

The first line says what follows: `{"format": "sparc-search-export", "version": 1, "encoder": …, "encoded": …}`. Every
other line is one document with its passages, their weights by field and n-gram, and, if `encoded`, their phrase blocks.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from ..errors import IndexFailure
from ..records import FIELDS, Document, EncodedPassage, Passage, Section
from ..stored import EncodedDocument
from . import phrase_block
from .borders import plain_borders, read_alignment, read_borders

FORMAT: Final = "sparc-search-export"
VERSION: Final = 1

_FACTS: Final = ("id", "number", "start", "page", "title", "source")
"""Fields of a passage that stand in a line as they are."""


@dataclass(frozen=True, slots=True)
class Header:
    """What an export holds."""

    encoder: str
    encoded: bool


def export_lines(documents: Iterable[EncodedDocument], header: Header) -> Iterator[str]:
    """The lines of an export, without line ends, in ASCII."""
    yield json.dumps({"format": FORMAT, "version": VERSION, **asdict(header)})
    for document in documents:
        yield json.dumps(_plain_document(document, header.encoded))


def read_header(line: str) -> Header:
    """What the first line says; `IndexFailure` if it is no export that this version can read."""
    try:
        found = json.loads(line)
        known = found["format"] == FORMAT
        version, header = int(found["version"]), Header(str(found["encoder"]), bool(found["encoded"]))
    except (ValueError, KeyError, TypeError):
        known, version = False, VERSION
    if not known:
        raise IndexFailure("this is no export of an index", "`sparc-search index export` makes one")
    if version != VERSION:
        raise IndexFailure(f"this export has version {version}, known is {VERSION}", "upgrade sparc-search")
    return header


def read_line(line: str, header: Header, number: int) -> EncodedDocument:
    """One document; without blocks in the export it comes without passages."""
    try:
        found = json.loads(line)
        passages = [_passage(found, passage) for passage in found["passages"]] if header.encoded else []
        facts = _document(found), str(found["content_hash"]), tuple(passages)
        return EncodedDocument(*facts, arithmetic=str(found.get("arithmetic", "")))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise IndexFailure(f"line {number} of the export is damaged: {error}", "export it again") from error


def _plain_document(encoded: EncodedDocument, blocks: bool) -> dict[str, Any]:
    document = encoded.document
    return {
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "metadata": dict(document.metadata),
        "sections": [asdict(section) for section in document.sections],
        "text": document.text,
        "content_hash": encoded.content_hash,
        **({"arithmetic": encoded.arithmetic} if encoded.arithmetic else {}),
        "passages": [_plain_passage(passage, blocks) for passage in encoded.passages],
    }


def _plain_passage(encoded: EncodedPassage, blocks: bool) -> dict[str, Any]:
    passage = encoded.passage
    plain = {
        **{name: getattr(passage, name) for name in _FACTS},
        "metadata": dict(passage.metadata),
        "joints": list(passage.joints),
        **_structure(passage),
        "text": passage.text,
        "features": {field: dict(values) for field, values in encoded.features.items()},
    }
    if blocks:
        plain["block"] = base64.b64encode(phrase_block.encode(encoded.block)).decode("ascii")
    return plain


def _structure(passage: Passage) -> dict[str, Any]:
    """What only passages with lists, tables or code have; `joints` are the offsets of all borders."""
    plain: dict[str, Any] = {}
    if any(border.kind != "paragraph" for border in passage.borders):
        plain["borders"] = plain_borders(passage.borders)
    if passage.encoded_text is not None:
        plain |= {"encoded_text": passage.encoded_text, "alignment": passage.alignment}
    return plain


def _document(found: Mapping[str, Any]) -> Document:
    id, text, title, source = (_text(found[name]) for name in ("id", "text", "title", "source"))
    return Document(id, text, title, source, _metadata(found), tuple(map(_section, found["sections"])))


def _section(found: Mapping[str, Any]) -> Section:
    section = Section(**found)
    _text(section.heading), _text(section.kind)
    _numbers(section.start, section.skip, section.page or 0)
    return section


def _passage(document: Mapping[str, Any], found: Mapping[str, Any]) -> EncodedPassage:
    facts = {name: found[name] for name in (*_FACTS, "text")}
    _numbers(facts["number"], facts["start"], facts["page"] or 0)
    for text in (facts["id"], facts["title"], facts["source"], facts["text"], found.get("encoded_text") or ""):
        _text(text)
    passage = Passage(
        document_id=document["id"],
        metadata=_metadata(found),
        borders=read_borders(found.get("borders", found["joints"])),
        encoded_text=found.get("encoded_text"),
        alignment=read_alignment(found.get("alignment")),
        **facts,
    )
    block = phrase_block.decode(base64.b64decode(found["block"], validate=True))
    return EncodedPassage(passage, block, {str(field): _weights(found["features"][field]) for field in FIELDS})


# --- values, which anybody may have written --------------------------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    value.encode()  # halves of characters cannot be stored
    return value


def _metadata(found: Mapping[str, Any]) -> dict[str, str]:
    return {_text(key): _text(value) for key, value in found["metadata"].items()}


def _weights(found: Mapping[str, Any]) -> dict[str, float]:
    return {_text(name): float(value) for name, value in found.items()}


def _numbers(*values: Any) -> None:
    for value in values:
        if type(value) is not int or not 0 <= value < 1 << 31:
            raise TypeError(f"{str(value)[:40]!r} is no number of characters or pages")
