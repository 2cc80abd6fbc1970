"""The engine on a server: readers that follow what is committed, and at most one writer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

from ...engine import Admin, Engine, Place
from ...errors import IndexNotFound, UsageError
from ...stored import CheckReport
from ..opensearch_settings import SETTINGS
from . import lifecycle
from .browsing import BrowsableServerView
from .bulk import Limits
from .describe import describe, size_in_bytes
from .lease import Lease
from .names import Version
from .options import Options, options_of
from .server import Server
from .state import State, read_state, read_statistics
from .verify import repair, verify
from .writer import ServerWriter


class OpenSearchEngine(Engine):
    """Passages in OpenSearch or Elasticsearch; vectors beside, on this machine."""

    settings = SETTINGS

    limits: ClassVar[Limits] = Limits()
    """How much is sent at once, and how patiently."""

    def __init__(
        self,
        server: Server,
        options: Options,
        encoder: str,
        lease: Lease | None = None,
        *,
        building: Version | None = None,
    ) -> None:
        self.server, self.options, self.name = server, options, options.name
        self._wanted, self._lease = encoder, lease
        self._at = building.documents if building else options.names.documents
        self._owns = building is None  # the connections and the lease
        self._lock = threading.Lock()
        self._frequencies: tuple[tuple[str, int], Counter[str]] | None = None
        self._filters: dict[Any, list[str]] = {}
        self._checked(read_state(server, self._at)[0])
        self._writer = self._open_writer() if lease else None

    @classmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> Self:
        """Open the index that the settings name; to write, it is made if there is none."""
        options = options_of(place)
        server = Server(options.access)
        try:
            if not writable:
                return cls(server, options, encoder)
            lease = take_lease(server, options)
            try:
                _create(server, options, encoder)
                return cls(server, options, encoder, lease)
            except BaseException:
                lease.release()
                raise
        except BaseException:
            server.close()
            raise

    @classmethod
    @contextmanager
    def rebuild(cls, place: Place, encoder: str) -> Iterator[Engine]:
        """The index to come, a version beside the one that serves, whose place it takes in one call."""
        from .rebuild import rebuilding

        with rebuilding(options_of(place), encoder) as new:
            yield new

    def _checked(self, state: State) -> None:
        """Remember what a version says of itself; `IndexMismatch` if it is not of this format and model."""
        meta = lifecycle.meta_of(self.server, state.version)
        if meta is None:
            raise IndexNotFound(
                f"the index {state.passages_index!r} has vanished from {self.server.shown}",
                "make it again with `sparc-search ingest PATH`",
            )
        shown = f"the index {self.options.names.passages!r} on {self.server.shown}"
        lifecycle.check(meta if self._owns else replace(meta, complete=True), self._wanted, shown)
        self.encoder, self._identity, self._readable = meta.encoder, state.identity, meta.readable

    def _open_writer(self) -> ServerWriter:
        assert self._lease is not None
        state, _ = read_state(self.server, self._at)
        return ServerWriter(
            self.server, state.version.documents, self._lease, readable=self._readable, limits=self.limits
        )

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[BrowsableServerView]:
        """What is committed now, for as long as the context lasts."""
        state, _ = read_state(self.server, self._at)
        if state.identity != self._identity:  # the alias has moved
            with self._lock:
                self._checked(state)
        yield BrowsableServerView(self.server, state, self._frequencies_of, self._filters)

    def _frequencies_of(self, state: State) -> Counter[str]:
        """The statistics of a state; those of the last one asked for are kept."""
        wanted = (state.identity, state.generation)
        kept = self._frequencies
        if kept is None or kept[0] != wanted:
            kept = (wanted, read_statistics(self.server, state))
            self._frequencies = kept
        return kept[1]

    # --- writing ---------------------------------------------------------------------------------------------------

    def writer(self) -> ServerWriter:
        """The one writer; `UsageError` if the index was opened for reading."""
        if self._writer is None:
            raise UsageError(
                f"the index {self.options.names.passages!r} was opened for reading", "open it with writable=True"
            )
        return self._writer

    def admin(self) -> ServerAdmin:
        """Whoever looks after the index."""
        return ServerAdmin(self)

    def close(self) -> None:
        """Let go of the lease and of connections; nothing acknowledged depends on it."""
        self._writer = None
        try:
            if self._lease and self._owns:
                self._lease.release()
        finally:
            if self._owns:
                self.server.close()


class ServerAdmin(Admin):
    """Looks after an index on a server."""

    def __init__(self, engine: OpenSearchEngine) -> None:
        self._engine = engine

    def describe(self) -> dict[str, object]:
        """What it holds and how much room that takes."""
        engine = self._engine
        with engine.view() as view:
            return describe(engine.server, engine.options.names, view.state, engine.encoder)

    def size_in_bytes(self) -> int:
        """Bytes of the two indices, without their copies."""
        with self._engine.view() as view:
            return sum(size_in_bytes(self._engine.server, view.state).values())

    def compact(self) -> None:
        """Let the server merge what it has, so that nothing of what was deleted is left in its files."""
        self._engine.writer().compact()

    def verify(self) -> CheckReport:
        """Look at everything: every record, passage and block, the counts, and whether features are found."""
        with self._engine.view() as view:
            return verify(view)

    def repair(self, report: CheckReport) -> list[str]:
        """Make the parts that a report names again; their names."""
        names = sorted({problem.derived for problem in report.problems if problem.derived})
        repair(self._engine.writer(), names)
        return names

    def rollback(self) -> str:
        """Serve the version before again; its name."""
        self._engine.writer()  # whoever moves the alias must be the one who may write
        return lifecycle.roll_back(self._engine.server, self._engine.options.names).passages


def take_lease(server: Server, options: Options) -> Lease:
    """Become the one who may write."""
    lifecycle.ensure_control(server, options.names)
    return Lease(server, options.names.control)


def _create(server: Server, options: Options, encoder: str) -> None:
    """Make an index if there is none."""
    try:
        lifecycle.served(server, options.names)
    except IndexNotFound:
        if not encoder:
            raise  # nothing to make one for
        version = lifecycle.begin(server, options.names, encoder, options.shape)
        lifecycle.publish(server, options.names, version)
