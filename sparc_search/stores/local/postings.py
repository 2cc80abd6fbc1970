"""Column postings: for each feature the rows that have it and their values; the dot product of a query with all rows.

A feature is known by a 128-bit hash of its field and name, so no names are kept: two that share one would need about
10^19 features. The arrays are the same in memory and in the mapped files of a segment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...records import Features
from ..short_floats import unshorten
from .features import FieldValues


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of feature f are `rows[offsets[f]:offsets[f + 1]]` (ascending) and the values beside them."""

    keys: NDArray[np.uint64]  # (features,) first half of the hash, ascending
    checks: NDArray[np.uint64]  # (features,) second half
    offsets: NDArray[np.int64]  # (features + 1,)
    rows: NDArray[np.uint32]  # (postings,)
    values: NDArray[np.uint16]  # (postings,) short floats

    def scores(self, query: Sequence[tuple[tuple[int, int], float]], count: int) -> NDArray[np.float64]:
        """The dot product of a query, (hash, weight) pairs, with each of `count` rows; always added in that order."""
        total = np.zeros(count)
        for feature, weight in self.find(query):
            entries = slice(self.offsets[feature], self.offsets[feature + 1])
            total[self.rows[entries]] += np.multiply(unshorten(self.values[entries]), weight, dtype=np.float64)
        return total

    def find(self, query: Sequence[tuple[tuple[int, int], float]]) -> Iterable[tuple[int, float]]:
        """Which features of the query there are, with their weights."""
        places = np.searchsorted(self.keys, np.array([key for (key, _), _ in query], np.uint64))
        for place, ((key, check), weight) in zip(places.tolist(), query, strict=True):
            while place < len(self.keys) and self.keys[place] == key:
                if self.checks[place] == check:
                    yield place, weight
                place += 1


def hashed(query: Features) -> list[tuple[tuple[int, int], float]]:
    """A query as (hash, weight) pairs, in an order that depends on nothing but its names."""
    return [
        (hash_of(field, name), float(weight))
        for field, weights in sorted(query.items())
        for name, weight in sorted(weights.items())
        if weight
    ]


def build(passages: Iterable[Sequence[FieldValues]]) -> Postings:
    """The postings of passages, whose rows are counted from 0."""
    numbers: Mapping[str, defaultdict[str, int]] = defaultdict(_numbering)
    parts: dict[str, list[tuple[NDArray[np.uint32], NDArray[np.uint16], int]]] = defaultdict(list)
    for row, fields in enumerate(passages):
        for field in fields:
            number = numbers[field.field]
            ids = np.fromiter(map(number.__getitem__, field.names), np.uint32, len(field.names))
            parts[field.field].append((ids, field.values, row))
    return _sorted([(field, list(numbers[field]), parts[field]) for field in sorted(parts)])


def _numbering() -> defaultdict[str, int]:
    """A dictionary that gives each new key the next number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _sorted(fields: Sequence[tuple[str, list[str], list[Any]]]) -> Postings:
    hashes = np.array([hash_of(field, name) for field, names, _ in fields for name in names], np.uint64).reshape(-1, 2)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    before, features, rows, values = 0, [], [], []
    for _, names, parts in fields:
        features += [rank[ids + before] for ids, _, _ in parts]
        values += [own for _, own, _ in parts]
        rows += [np.full(len(ids), row, np.uint32) for ids, _, row in parts]
        before += len(names)
    feature, row, value = _joined(features, np.uint32), _joined(rows, np.uint32), _joined(values, np.uint16)
    by_feature = np.argsort(feature, kind="stable")  # a feature belongs to one field, so its rows stay ascending
    offsets = np.append(0, np.cumsum(np.bincount(feature, minlength=len(order))))
    keys, checks = hashes[order, 0].copy(), hashes[order, 1].copy()
    return Postings(keys, checks, offsets.astype(np.int64), row[by_feature], value[by_feature])


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def hash_of(field: str, name: str) -> tuple[int, int]:
    """The two halves of a feature's hash."""
    return _cached_hash(f"{field}\0{name}")


@lru_cache(maxsize=1 << 16)
def _cached_hash(text: str) -> tuple[int, int]:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
