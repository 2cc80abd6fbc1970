"""Reading a store is reading one of its views: each method opens one, asks it, and lets it go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from ..interfaces import EncodedDocument, Hit, Searchable, SourceCatalogue, Statistics, StoredPassage, VectorChange
from ..records import Features


class ReadableView(Searchable, SourceCatalogue, Protocol):
    """What a view must be able to tell."""

    def matching(self, where: Mapping[str, str]) -> list[str]:
        """The passages a filter lets through."""

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """The vectors that came and the ids that went after a generation."""

    def documents(self) -> Iterator[EncodedDocument]:
        """Every document, by id."""


class Reading(ABC):
    """The reading half of a store that has views."""

    @abstractmethod
    def view(self) -> AbstractContextManager[ReadableView]:
        """What is committed now, for as long as the context lasts."""

    def sparse_search(self, query: Features, k: int, where: Mapping[str, str]) -> list[Hit]:
        """The k passages with the highest dot product, ties by passage id; only positive scores."""
        with self.view() as view:
            return view.sparse_search(query, k, where)

    def fetch(self, passage_ids: Sequence[str]) -> list[StoredPassage]:
        """Passages by id, in that order; those that have vanished are left out."""
        with self.view() as view:
            return view.fetch(passage_ids)

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Number of passages and, of these terms, in how many each stands."""
        with self.view() as view:
            return view.statistics(lex_names)

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        with self.view() as view:
            return view.content_hashes(document_ids)

    def matching(self, where: Mapping[str, str]) -> list[str]:
        """The passages a filter lets through."""
        with self.view() as view:
            return view.matching(where)

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """The vectors of passages that came after a generation, and the ids of those that went."""
        with self.view() as view:
            yield from view.vector_changes(since)

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix."""
        with self.view() as view:
            yield from view.documents_from(source_prefix)

    def documents(self) -> Iterator[EncodedDocument]:
        """Every document of one committed state, by id."""
        with self.view() as view:
            yield from view.documents()
