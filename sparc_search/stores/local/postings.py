"""Column postings: for each feature the rows that have it and their values; the dot product of a query with all rows.

A feature is known by a 64-bit hash of its field and name, so no names are kept: that any two of a million features
share one is less likely than one in 10^7, and it would move what is proposed, not a score. The arrays are the same in
memory and in the mapped files of a segment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import IndexDamaged
from ...records import Features
from ..derived_files import release
from ..features import FieldValues
from ..packing import unshorten
from ..page_sums import Pages
from .packed_postings import SPARE, Entries, Frame, PackedPostings, frame_of, pack

COMMON: Final = 4
"""A feature is common if more than one row in so many has it."""

_FEW: Final = 64
"""Postings that can be added up before their largest value is looked for."""


class Compiled(NamedTuple):
    """What compiled code can do, see `_sums.pyi`."""

    add_up: Callable[..., None]
    look_up: Callable[..., None]
    kth_highest: Callable[[NDArray[np.float64], int], float]


compiled: Compiled | None = None
with suppress(ImportError):  # without a C compiler at installation numpy gives the same sums
    from ._sums import add_up, kth_highest, look_up

    compiled = Compiled(add_up, look_up, kth_highest)


class Query(NamedTuple):
    """Features by their hashes. Scores are added in this order, so that a row has one score wherever it stands."""

    keys: NDArray[np.uint64]  # (features,) the hashes
    weights: NDArray[np.float64]  # (features,)


@dataclass(frozen=True, slots=True)
class Terms:
    """The features of a query that are there, in its order."""

    begins: NDArray[np.int64]  # where the postings of each are
    ends: NDArray[np.int64]
    weights: NDArray[np.float64]
    bounds: NDArray[np.float64]
    """The most that each can give to a row."""

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows have each."""
        return self.ends - self.begins

    @property
    def entries(self) -> list[slice]:
        """The postings of each."""
        return list(map(slice, self.begins.tolist(), self.ends.tolist()))

    def some(self, which: NDArray[np.bool_]) -> Terms:
        """Those of the features that a mask picks out."""
        return Terms(self.begins[which], self.ends[which], self.weights[which], self.bounds[which])


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of feature f, by ascending rows, are the packed ones from `offsets[f]` up to `offsets[f + 1]`."""

    keys: NDArray[np.uint64]  # (features,) hashes, ascending
    offsets: NDArray[Any]  # (features + 1,) uint32, or int64 if it must be
    frame: NDArray[np.int64]  # (3,) bits of a row, bits of a value, least value
    packed: NDArray[np.uint8]
    common: NDArray[np.int64]  # (common,) places of the features that more than one row in `COMMON` has, ascending
    tops: NDArray[np.uint16]  # (common,) the largest value of each
    pages: Mapping[str, Pages] | None = None
    """By the names of the arrays, the files they are mapped from; None in memory."""

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def all(self) -> PackedPostings:
        """The postings of all features, end to end."""
        return PackedPostings(self.packed, Frame(*self.frame.tolist()))

    def entries(self, some: Sequence[slice]) -> Entries:
        """Rows and values of these postings."""
        return self.all.entries(some)

    def release(self) -> None:
        """Let go of the memory of mapped arrays; they can still be read."""
        for array in (self.keys, self.offsets, self.packed):
            release(array)

    def find(self, query: Query) -> Terms:
        """The features of a query that there are."""
        if not len(query.keys) or not len(self.keys):
            return _NOTHING
        places = np.minimum(self.keys.searchsorted(query.keys), len(self.keys) - 1)
        self._touch_found(query, places)
        there = (self.keys[places] == query.keys).nonzero()[0]
        places, weights = places[there], query.weights[there]
        begins, ends = self.offsets[places].astype(np.int64), self.offsets[places + 1].astype(np.int64)
        self.touch_entries(begins, ends)
        return Terms(begins, ends, weights, unshorten(self._tops_of(places)) * weights)

    def _tops_of(self, places: NDArray[np.int64]) -> NDArray[np.uint16]:
        """What no value of these features is above."""
        tops = np.full(len(places), self.all.frame.most, np.uint16)
        if len(self.common):
            at = np.minimum(self.common.searchsorted(places), len(self.common) - 1)
            known = self.common[at] == places
            tops[known] = self.tops[at[known]]
        return tops

    def _touch_found(self, query: Query, places: NDArray[np.int64]) -> None:
        """Check what `find` looks at. A key stands between its neighbours wherever a search that went astray looked."""
        if self.pages is None:
            return
        near = np.concatenate([np.maximum(places - 1, 0), places, np.minimum(places + 1, len(self.keys) - 1)])
        self.pages["keys"].touch(near)
        self.pages["offsets"].touch(np.concatenate([near, near + 1]))
        below = (places == 0) | (self.keys[np.maximum(places - 1, 0)] < query.keys)
        last = places == len(self.keys) - 1
        if not (below & (last | (query.keys <= self.keys[places]))).all():
            raise damaged_postings("a key out of order")

    def touch_entries(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Check the pages of these postings."""
        if self.pages is not None:
            self.pages["packed"].touch_ranges(*self.all.bytes_of(begins, ends))

    def touch_all(self) -> None:
        """Check all of it, before all of it is read."""
        for file in (self.pages or {}).values():
            file.touch_all()

    def sums(self, terms: Terms, count: int) -> NDArray[np.float64]:
        """The weighted sum of these terms for each of `count` rows, added in their order."""
        if compiled is None:
            rows, values = self.entries(terms.entries)
            weights = terms.weights.repeat(terms.sizes)
            weights *= unshorten(values)
            return np.bincount(rows, weights, minlength=count).astype(np.float64, copy=False)
        total = np.zeros(count)
        with _translated():
            compiled.add_up(self.packed, self.frame, terms.begins, terms.ends, terms.weights, total)
        return total

    def sums_of(self, terms: Terms, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same for some rows (ascending), looked up: less work if they are few and the postings are long."""
        total = np.zeros(len(rows))
        if compiled:
            with _translated():
                compiled.look_up(self.packed, self.frame, terms.begins, terms.ends, terms.weights, total, rows)
            return total
        for entries, weight in zip(terms.entries, terms.weights.tolist(), strict=True):
            own, values = self.entries([entries])
            places = np.minimum(own.searchsorted(rows), len(own) - 1)
            found = (own[places] == rows).nonzero()[0]
            total[found] += np.multiply(unshorten(values[places[found]]), weight, dtype=np.float64)
        return total


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise damaged_postings(str(error)) from error


def damaged_postings(what: str) -> IndexDamaged:
    """The error for postings that cannot be."""
    return IndexDamaged(
        f"a file of the inverted index has {what}", "`sparc-search index verify --repair` makes it again"
    )


_NOTHING = Terms(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def kth(sums: NDArray[np.float64], k: int) -> float:
    """The k-th highest of those above zero; zero if there are not so many."""
    if compiled:
        return compiled.kth_highest(sums, k)
    positive = sums[sums > 0]
    return float(np.partition(positive, -k)[-k]) if 0 < k <= len(positive) else 0.0


def hashed(query: Features) -> Query:
    """A query by hashes, in an order that depends on nothing but its names."""
    return query_of(
        [
            (hash_of(field, name), float(weight))
            for field, weights in sorted(query.items())
            for name, weight in sorted(weights.items())
            if weight
        ]
    )


def query_of(features: Sequence[tuple[int, float]]) -> Query:
    """A query of (hash, weight) pairs."""
    return Query(
        np.array([key for key, _ in features], np.uint64), np.array([weight for _, weight in features], np.float64)
    )


class Numbered(NamedTuple):
    """The features of one field: names, and for each passage their numbers, their values, and its row."""

    field: str
    names: list[str]
    parts: list[tuple[NDArray[np.uint32], NDArray[np.uint16], int]]


def build(passages: Iterable[Sequence[FieldValues]]) -> Postings:
    """The postings of passages, whose rows are counted from 0."""
    return postings_of(numbered(passages))


def numbered(passages: Iterable[Sequence[FieldValues]]) -> list[Numbered]:
    """The features of passages by field, each name with a number."""
    numbers: Mapping[str, defaultdict[str, int]] = defaultdict(_numbering)
    parts: dict[str, list[tuple[NDArray[np.uint32], NDArray[np.uint16], int]]] = defaultdict(list)
    for row, fields in enumerate(passages):
        for field in fields:
            number = numbers[field.field]
            ids = np.fromiter(map(number.__getitem__, field.names), np.uint32, len(field.names))
            parts[field.field].append((ids, field.values, row))
    return [Numbered(field, list(numbers[field]), parts[field]) for field in sorted(parts)]


def _numbering() -> defaultdict[str, int]:
    """A dictionary that gives each new key the next number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def postings_of(fields: Sequence[Numbered]) -> Postings:
    """The postings of numbered features."""
    count = max((row + 1 for _, _, parts in fields for _, _, row in parts), default=0)
    hashes = np.array([hash_of(field, name) for field, names, _ in fields for name in names], np.uint64)
    order = np.argsort(hashes)
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
    return packed(hashes[order], offsets, row[by_feature], value[by_feature], count)


def packed(
    keys: NDArray[np.uint64], offsets: NDArray[Any], rows: NDArray[Any], values: NDArray[np.uint16], count: int
) -> Postings:
    """The postings of `count` passages, by feature and row."""
    frame = frame_of(count, int(values.min(initial=0xFFFF)), int(values.max())) if len(values) else Frame(0, 0, 0)
    data = np.append(pack(frame, rows, values), np.zeros(SPARE, np.uint8))
    typed = offsets.astype(offset_type(len(values)))
    return with_tops(Postings(keys, typed, np.array(frame), data, *NO_TOPS), count)


NO_TOPS: Final = np.zeros(0, np.int64), np.zeros(0, np.uint16)


def with_tops(postings: Postings, count: int) -> Postings:
    """The same, with the largest values of its common features: by them the work of adding those up is left out."""
    common = (np.diff(postings.offsets) > max(count // COMMON, _FEW)).nonzero()[0]
    bounds = zip(postings.offsets[common].tolist(), postings.offsets[common + 1].tolist(), strict=True)
    tops = [postings.entries([slice(*own)]).values.max() for own in bounds]
    return replace(postings, common=common, tops=np.array(tops, np.uint16))


def offset_type(postings: int) -> type[np.uint32 | np.int64]:
    """The type that can count so many postings."""
    return np.uint32 if postings < 1 << 32 else np.int64


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def hash_of(field: str, name: str) -> int:
    """The hash of a feature."""
    return _cached_hash(f"{field}\0{name}")


@lru_cache(maxsize=1 << 16)
def _cached_hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    return int.from_bytes(digest[:8], "little")  # format 2 had all twelve bytes, and its keys are copied
