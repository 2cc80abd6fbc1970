"""The store on a server: readers that follow what is committed, and at most one writer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import IndexNotFound, UsageError
from ...interfaces import CheckReport, EncodedDocument, Hit, Refusal
from ...records import Features
from ..reading import Reading
from . import lifecycle
from .access import Access
from .browsing import Browsing
from .bulk import Limits
from .derived import Derived
from .describe import describe, size_in_bytes
from .lease import Lease
from .lifecycle import Shape
from .names import Names, key
from .server import Server
from .state import State, read_state, read_statistics
from .verify import repair, verify
from .view import View
from .writer import Writer


@dataclass(frozen=True, slots=True)
class Options:
    """Where an index is, and how it is made."""

    access: Access
    names: Names
    shape: Shape = field(default_factory=Shape)
    limits: Limits = field(default_factory=Limits)
    dense_store: str = "faiss"


class OpenSearchStore(Browsing, Reading):
    """An index on a server. Safe to use from several threads."""

    def __init__(
        self,
        server: Server,
        options: Options,
        location: Path,
        encoder: str,
        lease: Lease | None = None,
        *,
        building: str = "",
    ) -> None:
        self.server, self._options, self._lease = server, options, lease
        self.location, self._wanted = location, encoder
        self._at = building or options.names.documents
        self._owns = not building  # the connections and the lease
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._frequencies: tuple[tuple[str, int], Counter[str]] | None = None
        self._filters: dict[Any, list[str]] = {}
        self.dense_store = options.dense_store
        shown = f"{options.names.passages}-{key(*options.access.urls)[:8]}"
        self._derived = Derived(location.with_name(f"{location.name}.server") / shown, options.dense_store)
        self._state = self._checked(read_state(server, self._at)[0])
        self._writer = self._open_writer() if lease else None

    def _checked(self, state: State) -> State:
        """The state, if it is of this format and model."""
        meta = lifecycle.meta_of(self.server, state.version)
        if meta is None:
            raise IndexNotFound(
                f"the index {state.passages_index!r} has vanished from {self.server.shown}",
                "make it again with `sparc-search ingest PATH`",
            )
        shown = f"the index {self._options.names.passages!r} on {self.server.shown}"
        meta_now = meta if self._owns else replace(meta, complete=True)
        lifecycle.check(meta_now, self._wanted, shown)
        self.encoder, self.identity, self._readable = meta.encoder, state.identity, meta.readable
        return state

    def _open_writer(self) -> Writer:
        assert self._lease is not None
        index, readable = self._state.version.documents, self._readable
        return Writer(self.server, index, self._lease, readable=readable, limits=self._options.limits)

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[StoreView]:
        """What is committed now, for as long as the context lasts."""
        state, _ = read_state(self.server, self._at)
        if state.identity != self.identity:  # the alias has moved
            with self._lock:
                self._checked(state)
        yield StoreView(self.server, state, self._frequencies_of, self._filters, self._derived)

    def _frequencies_of(self, state: State) -> Counter[str]:
        """The statistics of a state; those of the last one asked for are kept."""
        wanted = (state.identity, state.generation)
        kept = self._frequencies
        if kept is None or kept[0] != wanted:
            kept = (wanted, read_statistics(self.server, state))
            self._frequencies = kept
        return kept[1]

    def sparse_search_many(self, queries: Sequence[Features], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """The same for several queries, in one request."""
        with self.view() as view:
            return view.sparse_search_many(queries, k, where)

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""
        with self.view() as view:
            return view.dense_search(vectors, k, where)

    def describe(self) -> dict[str, object]:
        """What it holds and how much room that takes."""
        with self.view() as view:
            return describe(self.server, self._options.names, view.state, self.encoder)

    def size_in_bytes(self) -> int:
        """Bytes of the two indices, without their copies."""
        with self.view() as view:
            return sum(size_in_bytes(self.server, view.state).values())

    def verify(self) -> CheckReport:
        """Look at everything: every record, passage and block, the counts, and whether features are found."""
        with self.view() as view:
            return verify(self.server, view)

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        """Add or replace documents, all or none; durable when it returns."""
        with self._write() as writer:
            writer.add(documents, all_or_none=True)

    def add_what_fits(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        """Add or replace documents but for those that the server does not take."""
        with self._write() as writer:
            return writer.add(documents, all_or_none=False)

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        with self._write() as writer:
            return writer.delete(document_ids)

    def compact(self) -> None:
        """Let the server merge what it has, so that nothing of what was deleted is left in its files."""
        with self._write() as writer:
            writer.compact()

    def repair(self, report: CheckReport) -> list[str]:
        """Make the parts that a report names again; their names."""
        names = sorted({problem.derived for problem in report.problems if problem.derived})
        with self._write() as writer:
            repair(self.server, writer, names)
        return names

    @contextmanager
    def rebuilding(self, encoder: str) -> Iterator[OpenSearchStore]:
        """The store to come. It takes this one's place when the context ends without an error."""
        from .rebuild import rebuilding

        with self._write():
            assert self._lease is not None
            with rebuilding(self.server, self._options, self.location, encoder, self._lease) as new:
                yield new

    def rollback(self) -> str:
        """Serve the version before again; its name."""
        with self._write():
            version = lifecycle.roll_back(self.server, self._options.names)
            return version.passages

    @contextmanager
    def _write(self) -> Iterator[Writer]:
        if self._writer is None:
            raise UsageError(
                f"the index {self._options.names.passages!r} was opened for reading", "open it with writable=True"
            )
        with self._writing:
            yield self._writer

    def close(self) -> None:
        """Let go of the lease and of connections; nothing acknowledged depends on it."""
        self._writer = None
        try:
            self._derived.close()
            if self._lease and self._owns:
                self._lease.release()
        finally:
            if self._owns:
                self.server.close()

    def __enter__(self) -> OpenSearchStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StoreView(View):
    """A view that also searches vectors."""

    def __init__(self, server: Server, state: State, frequencies: Any, filters: Any, derived: Derived) -> None:
        super().__init__(server, state, frequencies, filters)
        self._derived = derived

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""
        return self._derived.search(self, vectors, k, self.matching(where) if where else None)
