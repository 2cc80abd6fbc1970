"""How a store on a server is opened: what the settings say, and who may write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from ...errors import IndexNotFound
from ...settings import load
from ..opensearch_settings import SETTINGS
from . import lifecycle
from .access import access_of
from .bulk import Limits
from .lease import Lease
from .lifecycle import Shape
from .names import names_of
from .rebuild import rebuilding
from .server import Server
from .store import OpenSearchStore, Options


@dataclass(frozen=True, slots=True)
class Opener:
    """Passages in OpenSearch or Elasticsearch; vectors beside, on this machine.

    A writable store is made if there is none. An empty `encoder` opens whatever is there.
    """

    settings: ClassVar = SETTINGS
    values: Mapping[str, object] | None = None
    limits: Limits = field(default_factory=Limits)

    def with_settings(self, values: Mapping[str, object]) -> Opener:
        """The same opener for these settings; without, it looks for them in the environment and in files."""
        return replace(self, values=dict(values))

    def __call__(self, location: Path, encoder: str, *, writable: bool) -> OpenSearchStore:
        """Open the index that the settings name; `location` is where this machine keeps vectors."""
        options = self._options()
        server = Server(options.access)
        try:
            if not writable:
                return OpenSearchStore(server, options, Path(location), encoder)
            lease = _take_lease(server, options)
            try:
                _create(server, options, encoder)
                return OpenSearchStore(server, options, Path(location), encoder, lease)
            except BaseException:
                lease.release()
                raise
        except BaseException:
            server.close()
            raise

    @contextmanager
    def rebuild(self, location: Path, encoder: str) -> Iterator[OpenSearchStore]:
        """The store to come, beside whatever is there. It takes its place when the context ends without an error."""
        options = self._options()
        server = Server(options.access)
        try:
            lease = _take_lease(server, options)
            try:
                with rebuilding(server, options, Path(location), encoder, lease) as new:
                    yield new
            finally:
                lease.release()
        finally:
            server.close()

    def _options(self) -> Options:
        values = self.values
        if values is None:
            values = load().of_plugin("stores", "opensearch")
        shape = Shape(int(str(values["shards"])), bool(values["features_in_source"]))
        names = names_of(str(values["index_name"]))
        return Options(access_of(values), names, shape, self.limits, str(values["dense_store"]))


def _take_lease(server: Server, options: Options) -> Lease:
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


open_store = Opener()
