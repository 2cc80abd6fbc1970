"""One body of tests for every engine: `engine` opens stores locally, on OpenSearch and on Elasticsearch.

`server_engine` is the same without the local one. Every test has an index of its own, removed when it is done.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sparc_search.index import open_store
from sparc_search.settings import Settings

SERVERS = {"opensearch": "opensearch_url", "elasticsearch": "elasticsearch_url"}


@dataclass
class Engine:
    """A kind of store, and a place for a test's indexes."""

    name: str
    folder: Path
    url: str = ""
    prefix: str = field(default_factory=lambda: f"t{uuid4().hex[:10]}")

    def settings(self, name: str = "index", **more: Any) -> Settings:
        """Settings for an index of this name."""
        return Settings().changed(**{**self._values(name), **more})

    def environment(self, name: str = "index") -> dict[str, str]:
        """The same for a process."""
        return {f"SPARC_SEARCH_{key.upper()}": str(value) for key, value in self._values(name).items()}

    def _values(self, name: str) -> dict[str, Any]:
        own: dict[str, Any] = {"index": self.folder / name}
        if self.url:
            own |= {"engine": "opensearch", "url": self.url, "index_name": f"{self.prefix}-{name}"}
        return own

    def open(self, encoder: str = "toy-1", *, writable: bool = True, name: str = "index", **more: Any) -> Any:
        """Open (or make) a store."""
        return open_store(self.settings(name, **more), encoder, writable=writable)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the server behind the store's back."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers, method=method)) as answer:
            return json.load(answer)

    def indices(self) -> list[str]:
        """The indices on the server that are this test's."""
        return sorted(self.request("GET", f"/{self.prefix}-*/_settings"))

    def clean_up(self) -> None:
        if self.url:
            for index in self.indices():
                self.request("DELETE", f"/{index}")


def _made(request: pytest.FixtureRequest, name: str, folder: Path) -> Iterator[Engine]:
    made = Engine(name, folder, request.getfixturevalue(SERVERS[name]) if name in SERVERS else "")
    yield made
    made.clean_up()


@pytest.fixture(params=["local", *SERVERS])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from _made(request, request.param, tmp_path)


@pytest.fixture(params=list(SERVERS))
def server_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from _made(request, request.param, tmp_path)


@pytest.fixture
def opensearch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from _made(request, "opensearch", tmp_path)
