"""The index that documents go to, by the few calls the pipeline makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from sparc_search.engine import Admin, Engine, View, supports
from sparc_search.records import Document
from sparc_search.stored import EncodedDocument, Refusal


class Target:
    """An engine, or, in a dry run without an index, nothing: then every document is new."""

    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine

    def content_hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""
        if not ids or self._engine is None:
            return {}
        with self._engine.view() as view:
            return view.content_hashes(ids)

    def add(self, documents: Sequence[EncodedDocument]) -> dict[str, Refusal]:
        """Add or replace documents; those that the engine would not take, by id."""
        if not documents or self._engine is None:
            return {}
        return {refusal.document_id: refusal for refusal in self._engine.writer().add(documents)}

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents."""
        if self._engine is not None:
            self._engine.writer().delete(ids)

    def require_sources(self) -> None:
        """`Unsupported` if the engine cannot tell which documents came from where."""
        if self._engine is not None:
            with self._engine.view() as view:
                view.documents_from("")

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix."""
        if self._engine is not None:
            with self._engine.view() as view:
                yield from view.documents_from(source_prefix)

    def knows_sources(self) -> bool:
        """Whether the engine can tell which documents came from where, and what they say."""
        with nullcontext() if self._engine is None else self._engine.view() as view:
            return view is not None and supports(view, View.documents_from) and supports(view, View.documents)

    def texts(self, ids: Sequence[str]) -> list[Document]:
        """Those of these documents that are there, without their passages; none if the engine cannot give them."""
        if not ids or self._engine is None:
            return []
        with self._engine.view() as view:
            return list(view.texts(ids)) if supports(view, View.documents) else []

    def size(self) -> int | None:
        """Bytes that the index takes, if the engine can tell."""
        admin = self._engine.admin() if self._engine is not None else None
        return admin.size_in_bytes() if admin and supports(admin, Admin.size_in_bytes) else None
