"""One body of tests for every engine: `engine` opens indexes locally, on OpenSearch and on Elasticsearch.

`server_engine` is the same without the local one. Every test has an index of its own, removed when it is done. An
engine of another distribution takes part when it is installed and stands in `ENGINES` with the settings it needs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from numpy.typing import NDArray

from sparc_search import engine as contract
from sparc_search.engine import Admin, View, supports
from sparc_search.opening import derived_vectors, open_engine, rebuild_engine
from sparc_search.records import Features
from sparc_search.settings import Settings
from sparc_search.stored import EncodedDocument, Hit, Refusal, StoredPassage

ROOT = Path(__file__).resolve().parents[2]

ENGINES: dict[str, Mapping[str, Any]] = {"local": {}}
"""Engines that need no server -> settings they need."""

EXAMPLES = ("lmdb",)
"""Engines of the distributions under `examples/`."""

SERVERS = {"opensearch": "opensearch_url", "elasticsearch": "elasticsearch_url"}


class Store:
    """An engine, opened. Each method asks a view, the writer or the admin part that is opened for it alone."""

    def __init__(self, engine: contract.Engine, settings: Settings) -> None:
        self.engine = engine
        self.encoder = engine.encoder
        self.view = engine.view
        self._vectors = derived_vectors(settings, engine)

    def __getattr__(self, name: str) -> Any:
        if hasattr(View, name):
            return self._of_a_view(name)
        if hasattr(Admin, name):
            return getattr(self.engine.admin(), name)
        return getattr(self.engine if hasattr(self.engine, name) else self.engine.writer(), name)

    def _of_a_view(self, name: str) -> Callable[..., Any]:
        def ask(*arguments: Any) -> Any:
            with self.engine.view() as view:
                found = getattr(view, name)(*arguments)
                return list(found) if isinstance(found, Iterator) else found

        return ask

    def supports(self, method: Callable[..., Any]) -> bool:
        """Whether the engine has an optional method."""
        if hasattr(View, method.__name__):
            with self.engine.view() as view:
                return supports(view, method)
        return supports(self.engine.admin() if hasattr(Admin, method.__name__) else self.engine, method)

    def has_vectors(self) -> bool:
        """Whether dense search works, by the engine itself or by what is derived from it."""
        return self.supports(View.dense_search) or self.supports(View.vector_changes)

    def sparse_search(self, query: Features, k: int, where: Mapping[str, str]) -> list[Hit]:
        with self.engine.view() as view:
            return list(view.sparse_search([query], k, where)[0].hits)

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Mapping[str, str]) -> list[Sequence[Hit]]:
        with self.engine.view() as view:
            own = supports(view, View.dense_search)
            found = view.dense_search(vectors, k, where) if own else self._vectors.search(view, vectors, k, where)
        assert not any(hits.missing for hits in found)
        return [hits.hits for hits in found]

    def fetch(self, passage_ids: Sequence[str]) -> Sequence[StoredPassage]:
        with self.engine.view() as view:
            return view.fetch(passage_ids).passages

    def matching(self, where: Mapping[str, str]) -> Sequence[str]:
        with self.engine.view() as view:
            return view.matching(where).passage_ids

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        """Add what must not be refused."""
        assert self.engine.writer().add(documents) == []

    def add_what_fits(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        return self.engine.writer().add(documents)

    def close(self) -> None:
        self._vectors.close()
        self.engine.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_local(location: Path, encoder: str = "", *, writable: bool = False) -> Store:
    """An index in a folder."""
    settings = Settings(index=location)
    return Store(open_engine(settings, encoder, writable=writable), settings)


@dataclass
class Engine:
    """A kind of engine, and a place for a test's indexes."""

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

    def index_name(self, name: str = "index") -> str:
        """What an index is called on the server."""
        return f"{self.prefix}-{name}"

    def _values(self, name: str) -> dict[str, Any]:
        own: dict[str, Any] = {"index": self.folder / name}
        if self.url:
            own |= {"engine": "opensearch", "url": self.url, "index_name": self.index_name(name)}
        else:
            own |= {"engine": self.name, **ENGINES.get(self.name, {})}
        return own

    def open(self, encoder: str = "toy-1", *, writable: bool = True, name: str = "index", **more: Any) -> Store:
        """Open (or make) an index."""
        settings = self.settings(name, **more)
        return Store(open_engine(settings, encoder, writable=writable), settings)

    @contextmanager
    def rebuild(self, encoder: str = "toy-1", *, name: str = "index", **more: Any) -> Iterator[Store]:
        """Make an index anew."""
        settings = self.settings(name, **more)
        with rebuild_engine(settings, encoder) as new:
            yield Store(new, settings)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the server behind the engine's back."""
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


@pytest.fixture(scope="session")
def example_engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the engines under `examples/` are installed, as distributions of their own."""
    target = tmp_path_factory.mktemp("example-engines")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    copies = tmp_path_factory.mktemp("sources")  # a build leaves files beside the source
    sources = [str(shutil.copytree(ROOT / "examples" / f"{name}-engine", copies / name)) for name in EXAMPLES]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *sources], check=True)
    return target


def made(request: pytest.FixtureRequest, name: str, folder: Path) -> Iterator[Engine]:
    """An engine by its name, for one test."""
    if name in EXAMPLES:  # for this test alone: what it declares is not declared elsewhere
        request.getfixturevalue("monkeypatch").syspath_prepend(str(request.getfixturevalue("example_engines")))
    engine = Engine(name, folder, request.getfixturevalue(SERVERS[name]) if name in SERVERS else "")
    yield engine
    engine.clean_up()


@pytest.fixture(params=[*ENGINES, *SERVERS])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from made(request, request.param, tmp_path)


@pytest.fixture(params=list(SERVERS))
def server_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from made(request, request.param, tmp_path)


@pytest.fixture
def opensearch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from made(request, "opensearch", tmp_path)
