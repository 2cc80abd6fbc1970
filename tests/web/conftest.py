"""A small index behind an application, behind a client; and the same behind a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from served import served
from starlette.testclient import TestClient
from toy_indexes import MakeIndex, toy_encoder, toy_indexes, write_index

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.web.app import create_app

__all__ = ["MakeIndex", "served"]
ServeProcess = Callable[..., AbstractContextManager[tuple[subprocess.Popen[str], str]]]


@pytest.fixture(scope="session")
def encoder(toy_plugin: Path) -> Encoder:
    return toy_encoder()


@pytest.fixture(scope="session")
def make_index(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeIndex]:
    with toy_indexes(lambda: tmp_path_factory.mktemp("web"), encoder) as make:
        yield make


@pytest.fixture(scope="session")
def index(make_index: MakeIndex) -> Index:
    return make_index()


@pytest.fixture
def client(index: Index) -> TestClient:
    return client_of(create_app(index))


def client_of(app: object, **options: object) -> TestClient:
    """A client that names the server as a browser on this machine does."""
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False, **options)  # type: ignore[arg-type]


@pytest.fixture
def serve_process(tmp_path: Path, toy_plugin: Path, encoder: Encoder) -> ServeProcess:
    """`with serve_process("--workers", "2", handles=128) as (process, address)`: the command itself, on a socket."""
    folder = tmp_path / "index"
    write_index(folder, encoder)

    @contextmanager
    def start(*options: str, handles: int = 1024, token: str = "") -> Iterator[tuple[subprocess.Popen[str], str]]:
        command = [sys.executable, "-m", "sparc_search.cli.main", "serve", "--encoder", "toy", "--index", str(folder)]
        environment = {**os.environ, "PYTHONPATH": str(toy_plugin), "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            ["sh", "-c", f'ulimit -n {handles}; exec "$@"', "sh", *command, "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "SPARC_SEARCH_TOKEN": token},
            cwd=tmp_path,
        )
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "Serving" in line, line + process.stderr.read()
            yield process, line.split(" at ")[1].split("/ ")[0]
        finally:
            process.kill()
            process.communicate()

    return start
