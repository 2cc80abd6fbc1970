"""A server to measure, started here or named by its address, and indices on it that go again."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sparc_search.mappings import index_bodies
from sparc_search.opening import open_engine
from sparc_search.servers.cluster import Cluster
from sparc_search.servers.node import Launch, Node, spawn
from sparc_search.servers.ports import free_port
from sparc_search.settings import Settings
from sparc_search.stores.opensearch import OpenSearchEngine
from sparc_search.stores.opensearch.access import access_of
from sparc_search.stores.opensearch.names import writing
from sparc_search.stores.opensearch.server import Server

# Local nodes are made to start fast. One that is measured runs as a server does that runs for long.
_AS_SERVERS_RUN: Final = ("-XX:-UseSerialGC", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=4")


@dataclass(frozen=True, slots=True)
class Place:
    """A server, and names on it that nobody else has."""

    server: Server
    settings: Settings
    prefix: str

    def engine(self, name: str, encoder: str = "", *, writable: bool = False, **more: Any) -> OpenSearchEngine:
        """An index that the package itself makes and reads."""
        engine = open_engine(self.named(name).changed(**more), encoder, writable=writable)
        assert isinstance(engine, OpenSearchEngine)
        return engine

    def named(self, name: str) -> Settings:
        """Settings for the index of this name."""
        return self.settings.changed(index=self.settings.index / name, index_name=f"{self.prefix}-{name}")

    def bare_index(self, change: Callable[[dict[str, Any]], None] | None = None) -> str:
        """A new index with the mapping of passages, or with a change to it, and nothing around it; its name."""
        name = f"{self.prefix}-bare-{uuid4().hex[:8]}"
        body = index_bodies(self.server.dialect.bodies)["passages"]
        if change:
            change(body)
        body["aliases"] = {writing(name): {}}
        self.server.request("PUT", f"/{name}", body)
        return name

    def drop(self, name: str = "") -> None:
        """Delete the indices of a name, or all."""
        pattern = f"{self.prefix}-{name}*"
        for index in self.server.request("GET", f"/{pattern}/_settings") or ():
            self.server.request("DELETE", f"/{index}")


@contextmanager
def place(url: str, heap: str, settings: Settings) -> Iterator[Place]:
    """The server at an address, or one that is started here and stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="sparc-search-bench-"))
    folder.chmod(0o755)  # a server may run as somebody else
    try:
        with _node(folder / "server", heap) if not url else _nothing(url) as address:
            settings = settings.changed(engine="opensearch", url=address, index=folder)
            server = Server(access_of(settings.of_plugin("stores", "opensearch")))
            found = Place(server, settings, f"bench-{os.getpid()}-{uuid4().hex[:8]}")
            try:
                yield found
            finally:
                if url:
                    found.drop()
                server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _node(folder: Path, heap: str) -> Iterator[str]:
    with Cluster(folder, free_port(), heap=heap, spawn=_spawn, patience=900) as cluster:
        yield cluster.url


@contextmanager
def _nothing(url: str) -> Iterator[str]:
    yield url


def _spawn(node: Node, launch: Launch) -> subprocess.Popen[bytes]:
    with (node.config / "jvm.options").open("a") as options:
        options.writelines(f"{line}\n" for line in _AS_SERVERS_RUN)
    return spawn(node, launch)
