"""One committed state of an index, to read and search."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...engine import View, Where
from ...errors import IndexDamaged
from ...records import LEX, Document, Features
from ...stored import (
    Condition,
    EncodedDocument,
    FeatureFigures,
    Fetched,
    FetchedBlocks,
    FetchedPassages,
    Hit,
    Hits,
    Matching,
    Statistics,
    VectorChange,
)
from ..phrase_block_batch import decode_batch
from ..stored_blocks import blocks_of
from . import catalogue, listing, rows
from .checksums import changed
from .database import read_meta
from .highest import highest
from .postings import hashed
from .segment import Mask, Segment, make_segment
from .segment_files import listed_segments, open_segment

_MOST_LOOSE = 16
"""Small segments in memory before they are put together."""

_MOST_FILTERS = 64
"""Filters whose passages are remembered for as long as the state lasts."""


@dataclass(frozen=True, slots=True)
class LocalState:
    """The segments of one generation, listed and loose, with what is still alive in each."""

    generation: int
    passages: int
    listed: Mapping[str, Segment]
    loose: tuple[Segment, ...]
    alive: tuple[Mask | None, ...]
    """For each segment; None if everything is."""
    filters: dict[tuple[tuple[str, str], ...], tuple[Mask, ...]] = field(default_factory=dict)
    known: dict[str, FeatureFigures] = field(default_factory=dict)
    """Figures of features, counted when they are first asked for."""
    listings: dict[tuple[Condition, ...], NDArray[np.int64]] = field(default_factory=dict)
    """Rows that fit the last few listings."""

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All of them, in the order of their rows."""
        return (*self.listed.values(), *self.loose)


def load_state(connection: sqlite3.Connection, folder: Path, old: LocalState | None) -> LocalState:
    """The state that the connection's transaction sees; what the old one has opened already is taken over."""
    facts = read_meta(connection)
    generation, passages = int(facts["generation"]), int(facts["passages"])
    if old and old.generation == generation:
        return old
    known = old.listed if old else {}
    listed = {one.name: known.get(one.name) or open_segment(folder, one) for one in listed_segments(connection)}
    covered = max((segment.last for segment in listed.values()), default=0)
    older = old.loose if old and old.generation < generation else ()  # a newer state has rows unknown here
    loose = _loose(connection, covered, older)
    dead = rows.tombstones(connection)
    if int(dead.sum()) != facts["dead"]:
        raise changed("the list of deleted passages")
    segments = (*listed.values(), *loose)
    alive = tuple(_alive(segment, dead) for segment in segments)
    counts = (len(part) if mask is None else int(mask.sum()) for part, mask in zip(segments, alive, strict=True))
    if sum(counts) != passages:
        raise changed("the list of passages or of segments")
    return LocalState(generation, passages, listed, loose, alive)


def _loose(connection: sqlite3.Connection, covered: int, old: Sequence[Segment]) -> tuple[Segment, ...]:
    """Segments in memory for passages that no file covers yet."""
    kept = [segment for segment in old if segment.first > covered]
    if len(kept) >= _MOST_LOOSE:
        kept = []
    seen = max([covered, *(segment.last for segment in kept)])
    (newest,) = connection.execute("SELECT coalesce(max(row), 0) FROM passages").fetchone()
    if newest > seen:
        kept.append(make_segment(seen + 1, newest, rows.sources(connection, seen + 1, newest)))
    return tuple(kept)


def _alive(segment: Segment, dead: NDArray[np.int64]) -> Mask | None:
    gone = segment.holding(dead)
    return ~gone if gone.any() else None


class LocalView(View):
    """Reads and searches one state; the connection's transaction holds it still."""

    def __init__(self, connection: sqlite3.Connection, identity: str, load: Callable[[], LocalState]) -> None:
        self.connection = connection
        self.identity = identity
        self._load = load
        self._state: LocalState | None = None

    @property
    def state(self) -> LocalState:
        """What is searched. An ingest asks for content hashes alone, and need not load what it has just written."""
        if self._state is None:
            self._state = self._load()
        return self._state

    def is_whole(self) -> bool:
        """Hold open all files of the state, from now on; False if one is missing, which is told to whoever needs it."""
        try:
            return bool(self.state)
        except IndexDamaged:
            return False

    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[Hits]:
        """For each query the k passages with the highest dot product, ties by passage id; only positive scores."""
        parts = list(zip(self.state.segments, self._masks(where), strict=True))
        return [Hits(_first(_found(parts, query, k), k)) for query in queries]

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Where) -> list[Hits]:
        """For each vector the k passages of the largest inner product, ties by passage id."""
        found: list[list[tuple[float, str]]] = [[] for _ in vectors]
        for segment, mask in zip(self.state.segments, self._masks(where), strict=True):
            if len(segment):
                for own, (numbers, scores) in zip(found, segment.dense.search(vectors, k, mask), strict=True):
                    own += segment.best(numbers, scores, k, _least(own, k))
        return [Hits(_first(own, k)) for own in found]

    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        """Passages by id, in that order; those that are not there are left out."""
        found = rows.read_passages(self.connection, passage_ids)
        self._none_lost(passage_ids, {stored.passage.id for stored in found})
        return Fetched(found)

    def fetch_blocks(self, passage_ids: Sequence[str]) -> FetchedBlocks:
        """The phrase blocks of those passages that are there, in that order."""
        blocks = rows.read_blocks(self.connection, passage_ids)
        self._none_lost(passage_ids, blocks)
        return FetchedBlocks(list(blocks), blocks_of(list(blocks.values())) if blocks else None)

    def fetch_passages(self, passage_ids: Sequence[str]) -> FetchedPassages:
        """Passages without their blocks, in that order; those that are not there are left out."""
        found = rows.read_texts(self.connection, passage_ids)
        self._none_lost(passage_ids, {passage.id for passage in found})
        return FetchedPassages(found)

    def _none_lost(self, wanted: Sequence[str], found: Collection[str]) -> None:
        """`IndexDamaged` if the database does not find what a segment holds; what no segment has is just not there."""
        for id in wanted:
            if id not in found and any(part.has(id, mask) for part, mask in self._parts()):
                raise changed(f"the way to passage {id!r}")

    def _parts(self) -> Iterable[tuple[Segment, Mask | None]]:
        return zip(self.state.segments, self.state.alive, strict=True)

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Number of passages and, of these terms, in how many each stands."""
        found = rows.read_frequencies(self.connection, lex_names)
        for name in lex_names:
            if name not in found and len(catalogue.rows_with(self, LEX, name)):
                raise changed(f"the number of passages with {name!r}")
        return Statistics(self.state.generation, self.state.passages, found)

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        return rows.content_hashes(self.connection, document_ids)

    def documents(self, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
        """Every document, or those of these ids, by id."""
        return rows.read_documents(self.connection, ids)

    def texts(self, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """Every document, or those of these ids, without its passages."""
        return (document for _, document, _ in rows.read_whole_texts(self.connection, ids))

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix."""
        query = "SELECT id, source FROM documents WHERE source >= ? AND source < ? ORDER BY source, id"
        yield from self.connection.execute(query, (source_prefix, source_prefix + "\U0010ffff"))

    def matching(self, where: Where) -> Matching:
        """The ids of the passages that have these metadata."""
        masks = zip(self.state.segments, self._masks(where), strict=True)
        found = [
            segment.id(number)
            for segment, mask in masks
            for number in (range(len(segment)) if mask is None else np.flatnonzero(mask).tolist())
        ]
        return Matching(found)

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """The vectors of passages that came after a generation."""
        query = "SELECT DISTINCT generation FROM passages WHERE generation > ? ORDER BY generation"
        for (generation,) in self.connection.execute(query, (since,)).fetchall():
            own = "SELECT id FROM passages WHERE generation = ? ORDER BY row"
            ids = tuple(id for (id,) in self.connection.execute(own, (generation,)))
            blocks = decode_batch(list(rows.read_blocks(self.connection, ids).values()))
            scales = blocks.passage_scales.astype(np.float32)
            yield VectorChange(generation, ids, blocks.passage_vectors * scales[:, None])

    # --- to be looked at -------------------------------------------------------------------------------------------

    feature_statistics = catalogue.feature_statistics
    feature_figures = catalogue.feature_figures
    features = catalogue.features
    frequent_features = catalogue.frequent_features
    features_like = catalogue.features_like
    list_passages = listing.list_passages
    list_documents = listing.list_documents
    metadata_values = listing.metadata_values
    facets = listing.facets
    count_features = listing.count_features
    sample = catalogue.sample

    def _masks(self, where: Where) -> tuple[Mask | None, ...]:
        """For each segment which passages may be found; None if all may."""
        if not where:
            return self.state.alive
        key = tuple(sorted(where.items()))
        masks = self.state.filters.get(key)
        if masks is None:
            masks = self._filter(key)
            if len(self.state.filters) >= _MOST_FILTERS:
                self.state.filters.clear()
            self.state.filters[key] = masks
        return masks

    def _filter(self, key: tuple[tuple[str, str], ...]) -> tuple[Mask, ...]:
        found = reduce(np.intersect1d, [rows.tagged(self.connection, *pair) for pair in key])
        # Tags of deleted passages are gone too, so nothing dead is let through.
        return tuple(segment.holding(found) for segment in self.state.segments)


def _found(parts: Iterable[tuple[Segment, Mask | None]], query: Features, k: int) -> list[tuple[float, str]]:
    """The best of each segment."""
    terms = hashed(query)
    found: list[tuple[float, str]] = []
    for segment, mask in parts:
        numbers, scores = highest(segment.postings, terms, k, len(segment), mask)
        found += segment.best(numbers, scores, k, _least(found, k))
    return found


def _least(found: list[tuple[float, str]], k: int) -> float:
    """What another must score to be among the first k."""
    return sorted((score for score, _ in found), reverse=True)[k - 1] if 0 < k <= len(found) else -np.inf


def _first(found: list[tuple[float, str]], k: int) -> list[Hit]:
    found.sort(key=lambda pair: (-pair[0], pair[1]))
    return [Hit(id, score) for score, id in found[:k]]
