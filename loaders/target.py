"""The store that documents go to, by the few calls the pipeline makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparc_search.errors import UsageError
from sparc_search.interfaces import EncodedDocument, Refusal, Selective, Sized, SourceCatalogue, Store


class Target:
    """A store, or, in a dry run without an index, nothing: then every document is new."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def content_hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        return self._store.content_hashes(ids) if self._store and ids else {}

    def add(self, documents: Sequence[EncodedDocument]) -> dict[str, Refusal]:
        """Add or replace documents; those that the store would not take, by id."""
        if not documents or self._store is None:
            return {}
        if isinstance(self._store, Selective):
            return {refusal.document_id: refusal for refusal in self._store.add_what_fits(documents)}
        self._store.add(documents)
        return {}

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents."""
        if self._store:
            self._store.delete(ids)

    def require_sources(self) -> None:
        """`UsageError` if the store cannot tell which documents came from where."""
        if self._store is not None and not isinstance(self._store, SourceCatalogue):
            raise UsageError("this store cannot tell which documents came from where", "leave --sync out")

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix."""
        return self._store.documents_from(source_prefix) if isinstance(self._store, SourceCatalogue) else iter(())

    def size(self) -> int | None:
        """Bytes that the store takes, if it can tell."""
        return self._store.size_in_bytes() if isinstance(self._store, Sized) else None
