"""The engine on a server: readers that follow what is committed, and at most one writer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from ...engine import Engine, Place
from ...errors import IndexDamaged, IndexMismatch, IndexNotFound, UsageError
from ..opensearch_settings import SETTINGS
from . import lifecycle
from .admin import ServerAdmin
from .bulk import BulkLimits
from .failures import vanished
from .lease import Lease
from .names import Version
from .options import Options, options_of
from .server import Server
from .state import ServerState, read_state, read_statistics
from .understood import understood
from .view import ServerView
from .writer import ServerWriter


class OpenSearchEngine(Engine):
    """Passages in OpenSearch or Elasticsearch; vectors beside, on this machine."""

    settings = SETTINGS

    limits: ClassVar[BulkLimits] = BulkLimits()
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
        self._wanted, self.lease = encoder, lease
        self._at = building.documents if building else options.names.documents
        self._owns = building is None  # the connections and the lease
        self._lock = threading.Lock()
        self._frequencies: tuple[tuple[str, int], Counter[str]] | None = None
        self._filters: dict[Any, list[str]] = {}
        self._checked(read_state(server, self._at)[0])
        self._writer = self._open_writer() if lease else None

    @classmethod
    @understood()
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

    @classmethod
    @understood()
    def restore(cls, place: Place, source: Path, *, replace: bool) -> Mapping[str, object]:
        """Make the snapshot REPOSITORY/NAME the index, in one step; what is served becomes the version before."""
        from .snapshots import restore

        return restore(options_of(place), source, replacing=replace)

    def _checked(self, state: ServerState) -> None:
        """Remember what a version says of itself; `IndexMismatch` if it is not of this format and model."""
        meta = lifecycle.meta_of(self.server, state.version)
        if meta is None:
            raise vanished(f"{state.passages_index!r} has lost its passages or its documents", self.server.shown)
        shown = f"the index {self.options.names.passages!r} on {self.server.shown}"
        lifecycle.check(meta if self._owns else replace(meta, complete=True), self._wanted, shown)
        self.encoder, self._identity, self._readable = meta.encoder, state.identity, meta.readable
        self._documents, self._refused, self.behind = state.version.documents, "", None

    def _open_writer(self) -> ServerWriter:
        assert self.lease is not None
        state, _ = read_state(self.server, self._at)
        return ServerWriter(
            self.server, state.version.documents, self.lease, readable=self._readable, limits=self.limits
        )

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[ServerView]:
        """What is committed now, for as long as the context lasts."""
        yield ServerView(self.server, self._followed(), self._frequencies_of, self._filters)

    def _followed(self) -> ServerState:
        """The state of the version that the alias stands for, or of the one before if that is of another model."""
        state, _ = read_state(self.server, self._at)
        if state.identity == self._identity:
            self.behind = None
            return state
        with self._lock:  # the alias has moved
            if state.identity != self._refused:
                try:
                    self._checked(state)
                    return state
                except IndexMismatch as error:
                    self._refused, self.behind = state.identity, error
            try:
                return read_state(self.server, self._documents)[0]
            except IndexNotFound:
                assert self.behind is not None
                raise self.behind from None

    def _frequencies_of(self, state: ServerState) -> Counter[str]:
        """The statistics of a state; those of the last one asked for are kept."""
        wanted = (state.identity, state.generation)
        kept = self._frequencies
        if kept is None or kept[0] != wanted:
            kept = (wanted, self._statistics(state))
            self._frequencies = kept
        return kept[1]

    def _statistics(self, state: ServerState) -> Counter[str]:
        """Those of a state; those of the newest, if a writer has made two more states since it was read."""
        try:
            return read_statistics(self.server, state)
        except IndexDamaged:
            now = read_state(self.server, state.version.documents)[0]
            if now.generation == state.generation:
                raise
            return self._statistics(now)

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
            if self.lease and self._owns:
                self.lease.release()
        finally:
            if self._owns:
                self.server.close()


def take_lease(server: Server, options: Options) -> Lease:
    """Become the one who may write."""
    lifecycle.ensure_control(server, options.names)
    return Lease(server, options.names.control)


def _create(server: Server, options: Options, encoder: str) -> None:
    """Make an index if there is none; of one that is there by half nothing more must go."""
    try:
        version, _ = lifecycle.served(server, options.names)
    except IndexNotFound:
        if not encoder:
            raise  # nothing to make one for
        _refuse_half(server, options)
        version = lifecycle.begin(server, options.names, encoder, options.shape)
        lifecycle.publish(server, options.names, version)
    else:
        if lifecycle.meta_of(server, version) is None:
            raise vanished(f"{version.passages!r} has lost its documents", server.shown)


def _refuse_half(server: Server, options: Options) -> None:
    """`IndexNotFound` if the documents of an index are there without its passages."""
    try:
        state, _ = read_state(server, options.names.documents)
    except IndexNotFound:
        return
    raise vanished(f"{state.passages_index!r} has lost its passages", server.shown)
