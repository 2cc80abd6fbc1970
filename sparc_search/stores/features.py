"""A passage's features as bytes, to rebuild the postings from.

count of names, length of what follows it compressed          two uint32
names (line by line, sorted), then for each field a bitmap    zlib
for each field the values of its names                        uint16 each (see packing)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import IndexDamaged
from ..ngrams import round_up_9bits
from ..records import FIELDS, Features
from .packing import shorten, unshorten

_ORDER = tuple(sorted(FIELDS))
"""The order of the fields in the bytes."""

_HEAD = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The features of one field: names, sorted, and their values in 16 bits."""

    field: str
    names: list[str]
    values: NDArray[np.uint16]


def nonzero(features: Features) -> dict[str, dict[str, float]]:
    """The features of every field that are not zero; `ValueError` for a field that no index has."""
    unknown = set(features) - set(FIELDS)
    if unknown:
        raise ValueError(f"unknown feature fields: {sorted(unknown)}")
    return {field: {name: value for name, value in features.get(field, {}).items() if value} for field in _ORDER}


def encode_features(features: Features) -> bytes:
    """Features as bytes; values are rounded up to 9 significant bits, as on every engine."""
    positive = nonzero(features)
    names = sorted(set().union(*positive.values()))
    if any("\n" in name or "\0" in name or not name for name in names):
        raise ValueError("a feature name is empty or holds a line break or a null character")
    has = np.array([[name in positive[field] for name in names] for field in _ORDER], bool)
    bitmaps = np.packbits(has, axis=1).tobytes()
    packed = zlib.compress("\n".join(names).encode("utf-8", "surrogatepass") + b"\0" + bitmaps)
    values = b"".join(_values(names, positive[field]) for field in _ORDER)
    return _HEAD.pack(len(names), len(packed)) + packed + values


def _values(names: list[str], values: Mapping[str, float]) -> bytes:
    return shorten(round_up_9bits([values[name] for name in names if name in values])).tobytes()


def decode_features(data: bytes) -> list[FieldValues]:
    """Every field with its names and values; `IndexDamaged` if the bytes are not what `encode_features` makes."""
    try:
        return _decode(data)
    except (struct.error, zlib.error, ValueError, IndexError) as error:
        raise IndexDamaged(
            "stored features are damaged",
            "`sparc-search index verify --repair` makes them again from the stored text of their document",
        ) from error


def _decode(data: bytes) -> list[FieldValues]:
    count, length = _HEAD.unpack_from(data)
    packed = zlib.decompress(data[_HEAD.size : _HEAD.size + length])
    text, _, bitmaps = packed.partition(b"\0")
    names = text.decode("utf-8", "surrogatepass").split("\n") if count else []
    size = -(-count // 8)
    values = np.frombuffer(data, "<u2", offset=_HEAD.size + length)
    if len(names) != count or len(bitmaps) != size * len(_ORDER):
        raise ValueError("counts")
    found = []
    for number, field in enumerate(_ORDER):
        bits = np.frombuffer(bitmaps, np.uint8, size, number * size)
        own = [names[i] for i in np.flatnonzero(np.unpackbits(bits, count=count)).tolist()]
        found.append(FieldValues(field, own, values[: len(own)]))
        values = values[len(own) :]
    if len(values):
        raise ValueError("counts")
    return found


def as_features(fields: list[FieldValues]) -> dict[str, dict[str, float]]:
    """Decoded features as plain mappings."""
    return {f.field: dict(zip(f.names, unshorten(f.values).tolist(), strict=True)) for f in fields}
