"""Passages and documents as the server keeps them, there and back.

What is searched or looked at stands in `_source`. What only this package reads is binary, stored beside `_source`
and fetched alone: the phrase block, the passage itself (`facts`), its vector.
"""

from __future__ import annotations

import base64
import json
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import IndexDamaged
from ...ngrams import round_up_9bits
from ...records import FIELDS, LEX, Document, EncodedPassage, Features, Passage, PhraseBlock, Section
from ...stored import EncodedDocument, StoredPassage, pairs_of
from .. import phrase_block
from ..borders import plain_borders, read_structure
from ..features import as_features, decode_features, encode_features, nonzero

_LONGEST_TAG: Final = 1_000
_SCALE = struct.Struct("<d")


# --- passages --------------------------------------------------------------------------------------------------------


def passage_body(encoded: EncodedPassage, generation: int, *, readable: bool) -> str:
    """The JSON of a passage; without `readable` features, they are kept packed as well."""
    passage, features = encoded.passage, rounded(encoded.features)
    body: dict[str, Any] = {
        "id": passage.id,
        "document": passage.document_id,
        "number": passage.number,
        "title": passage.title,
        "text": passage.text,
        "source": passage.source,
        "metadata": shown_metadata(passage.metadata),
        "tags": [tag(key, value) for key, value in pairs_of(passage.metadata)],
        "words": len(passage.text.split()),
        "generation": generation,
        **{name: values for name, values in features.items() if values},
        "block": _text(phrase_block.encode(encoded.block)),
        "facts": _text(_facts(passage)),
        "vector": _text(_vector(encoded.block)),
    }
    if passage.page is not None:
        body["page"] = passage.page
    if not readable:
        body["features"] = _text(encode_features(features))
    return json.dumps(body, ensure_ascii=False)


def rounded(features: Features) -> dict[str, dict[str, float]]:
    """Features as every engine has them: above zero, 9 significant bits."""
    return {
        field: dict(zip(values, round_up_9bits(list(values.values())).tolist(), strict=True))
        for field, values in nonzero(features).items()
    }


_FACTS: Final = tuple(field.name for field in fields(Passage))
_RARE: Final = ("encoded_text", "alignment")
"""Facts at the end that most passages have none of; then they are left out, as they are in older indexes."""


def _facts(passage: Passage) -> bytes:
    facts = {name: getattr(passage, name) for name in _FACTS}
    facts["metadata"] = dict(passage.metadata)
    facts["borders"] = plain_borders(passage.borders)
    if passage.encoded_text is None:
        facts = {name: value for name, value in facts.items() if name not in _RARE}
    return json.dumps(list(facts.values()), ensure_ascii=False).encode()


def _vector(block: PhraseBlock) -> bytes:
    return _SCALE.pack(block.passage_scale) + block.passage_vector.tobytes()


def read_vector(stored: Mapping[str, Any]) -> tuple[NDArray[np.int8], float]:
    """The vector of a passage and its scale."""
    data = _bytes(stored, "vector")
    (scale,) = _SCALE.unpack_from(data)
    return np.frombuffer(data, np.int8, offset=_SCALE.size), float(scale)


def read_passage(stored: Mapping[str, Any], *, check: bool = False) -> StoredPassage:
    """A passage and its block from its stored fields."""
    return StoredPassage(read_facts(stored), phrase_block.decode(read_block(stored), check=check))


def read_facts(stored: Mapping[str, Any]) -> Passage:
    """The passage itself from its stored fields."""
    facts = dict(zip(_FACTS, json.loads(_bytes(stored, "facts")), strict=False))
    return Passage(**read_structure(facts))


def read_block(stored: Mapping[str, Any]) -> bytes:
    """The bytes of a phrase block from a passage's stored fields."""
    return _bytes(stored, "block")


def read_features(stored: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """A passage's features, wherever they are kept."""
    if "features" in stored:
        return as_features(decode_features(_bytes(stored, "features")))
    return {name: source.get(name, {}) for name in FIELDS}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(stored: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(stored[name][0])
    except (KeyError, IndexError, ValueError) as error:
        raise IndexDamaged(
            f"a passage on the server has no {name!r}",
            "`sparc-search index verify --repair` makes it again from the stored text of its document",
        ) from error


def tag(key: str, value: str) -> str:
    """A piece of metadata as one term to filter by; a long one by its hash."""
    text = f"{key.replace('%', '%25').replace('=', '%3D')}={value}"
    data = text.encode("utf-8", "surrogatepass")
    return text if len(data) <= _LONGEST_TAG else f"%{blake2b(data, digest_size=20).hexdigest()}"


def read_tag(text: str) -> tuple[str, str] | None:
    """Key and value of a tag; None of one that is only a hash."""
    key, equals, value = text.partition("=")
    return (key.replace("%3D", "=").replace("%25", "%"), value) if equals else None


def shown_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata for people to look at on the server: what would be too long or oddly named there is left out."""
    return {
        key: value
        for key, value in metadata.items()
        if len(value) <= _LONGEST_TAG and len(key) <= 200 and key.isprintable() and key.strip(". ") == key and key
    }


# --- documents -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """What a document adds to the counts behind the lexical weights."""

    documents: int = 0
    passages: int = 0
    words: int = 0
    terms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """A document on the server. One that is `marked` is being replaced or deleted, and counts as not there."""

    document: Document
    content_hash: str
    generation: int
    passage_ids: tuple[str, ...]
    counts: Counts
    before: Counts
    """What it counted for before `generation`."""
    gone: tuple[str, ...] = ()
    """Passages that it had before `generation` and has no more."""
    marked: bool = False


def record_of(encoded: EncodedDocument, generation: int, old: Record | None = None) -> Record:
    """The record of a document, which may take the place of an old one."""
    passages = encoded.passages
    ids = tuple(passage.passage.id for passage in passages)
    counts, before = counts_of(passages), old.counts if old else Counts()
    gone = tuple(sorted(set(old.passage_ids).difference(ids))) if old else ()
    return Record(encoded.document, encoded.content_hash, generation, ids, counts, before, gone)


def counts_of(passages: Iterable[EncodedPassage]) -> Counts:
    """What a document with these passages adds."""
    number = words = 0
    terms: Counter[str] = Counter()
    for passage in passages:
        number, words = number + 1, words + len(passage.passage.text.split())
        terms.update(name for name, value in passage.features.get(LEX, {}).items() if value)
    return Counts(1, number, words, terms)


def record_body(record: Record) -> str:
    """The JSON of a record."""
    document = record.document
    body = {
        "kind": "document",
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "metadata": shown_metadata(document.metadata),
        "content_hash": "" if record.marked else record.content_hash,
        "generation": record.generation,
        "passages": record.counts.passages,
        "words": record.counts.words,
        "body": {
            "text": document.text,
            "metadata": dict(document.metadata),
            "sections": [astuple(section) for section in document.sections],
            "content_hash": record.content_hash,
            "passage_ids": record.passage_ids,
            "counts": _plain(record.counts),
            "before": _plain(record.before),
            "gone": record.gone,
        },
    }
    return json.dumps(body, ensure_ascii=False)


def read_record(source: Mapping[str, Any]) -> Record:
    """A record from its JSON."""
    body = source["body"]
    document = Document(
        source["id"],
        body["text"],
        source["title"],
        source["source"],
        body["metadata"],
        tuple(Section(*section) for section in body["sections"]),
    )
    ids = tuple(body["passage_ids"])
    counts, before = Counts(*body["counts"]), Counts(*body["before"])
    marked = not source["content_hash"]
    gone = tuple(body["gone"])
    return Record(document, body["content_hash"], int(source["generation"]), ids, counts, before, gone, marked)


def _plain(counts: Counts) -> Sequence[object]:
    return counts.documents, counts.passages, counts.words, dict(counts.terms)
