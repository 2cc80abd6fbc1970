"""Engines that can do the least, over a local index: what an engine of somebody else may look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from engines import Store

from sparc_search.engine import Engine, View, Where, Writer
from sparc_search.errors import Incomplete
from sparc_search.records import Features
from sparc_search.stored import Fetched, Hits, Matching, Statistics, VectorChange


class PlainView(View):
    """Only what must be there, passed on to another view; some passages are gone, some of it is missing."""

    def __init__(self, view: View, gone: Sequence[str], missing: Mapping[str, str]) -> None:
        self.inner, self._gone, self._missing, self.identity = view, gone, missing, view.identity

    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[Hits]:
        found = self.inner.sparse_search(queries, k, where)
        lacks = [tuple(what for term, what in self._missing.items() if term in query["lex"]) for query in queries]
        return [Hits(own.hits, what) for own, what in zip(found, lacks, strict=True)]

    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        return self.inner.fetch([id for id in passage_ids if id not in self._gone])

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        return self.inner.statistics(lex_names)

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        return self.inner.content_hashes(document_ids)


class ViewWithVectors(PlainView):
    """That, and what dense search on this machine needs."""

    lost: ClassVar[set[str] | None] = set()
    """Passages whose vectors are not told; None if nothing can be read."""
    asked: ClassVar[list[int]] = []

    def matching(self, where: Where) -> Matching:
        return self.inner.matching(where)

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        self.asked.append(since)
        if self.lost is None:
            raise Incomplete("a shard is lost")
        for change in self.inner.vector_changes(since):
            there = [number for number, id in enumerate(change.passage_ids) if id not in self.lost]
            ids = tuple(change.passage_ids[number] for number in there)
            yield VectorChange(change.generation, ids, change.vectors[there])


class Plain(Engine):
    """An engine that can do the least."""

    kind: type[PlainView] = PlainView

    def __init__(self, store: Store, gone: Sequence[str] = (), missing: Mapping[str, str] | None = None) -> None:
        self._store, self._gone, self._missing = store, gone, missing or {}

    @classmethod
    def open(cls, place: object, encoder: str = "", *, writable: bool = False) -> Plain:
        raise AssertionError("it is open")

    @contextmanager
    def view(self) -> Iterator[PlainView]:
        with self._store.view() as view:
            yield self.kind(view, self._gone, self._missing)

    def writer(self) -> Writer:
        return self._store.engine.writer()


class WithVectors(Plain):
    """One that dense search on this machine can be derived from."""

    kind = ViewWithVectors
