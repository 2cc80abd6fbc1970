"""A small index behind an application, behind a client; and the same behind a real server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import uvicorn
from engines import open_local
from small_corpus import DOCUMENTS, encode_all
from starlette.testclient import TestClient

from sparc_search import plugins
from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.settings import load
from sparc_search.web import serving
from sparc_search.web.app import create_app
from sparc_search.web.limits import WebLimits

MakeIndex = Callable[..., Index]
ServeProcess = Callable[..., AbstractContextManager[tuple[subprocess.Popen[str], str]]]


@pytest.fixture(scope="session")
def encoder(toy_plugin: Path) -> Encoder:
    opened = plugins.load("encoders", "toy")()
    assert isinstance(opened, Encoder)
    return opened


@pytest.fixture(scope="session")
def make_index(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeIndex]:
    """`make_index(documents)`: an index of them, open for reading."""
    opened: list[Index] = []

    def make(documents: Sequence[Document] = DOCUMENTS) -> Index:
        folder = tmp_path_factory.mktemp("web") / "index"
        store = open_local(folder, encoder.fingerprint, writable=True)
        store.add(encode_all(documents, encoder))
        store.close()
        settings = load({"index": folder}, environ={}, folder=folder, user_folder=folder)
        opened.append(Index.open(folder, settings=settings, encoder=encoder))
        return opened[-1]

    yield make
    for index in opened:
        index.close()


@pytest.fixture(scope="session")
def index(make_index: MakeIndex) -> Index:
    return make_index()


@pytest.fixture
def client(index: Index) -> TestClient:
    return client_of(create_app(index))


def client_of(app: object, **options: object) -> TestClient:
    """A client that names the server as a browser on this machine does."""
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False, **options)  # type: ignore[arg-type]


@contextmanager
def served(app: object) -> Iterator[str]:
    """The application behind a real server, in a thread; its address without the last slash."""
    with serving.bound("127.0.0.1", 0) as listening:
        server = uvicorn.Server(serving.configuration(app, WebLimits()))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield serving.address_of(listening).rstrip("/")
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def serve_process(tmp_path: Path, toy_plugin: Path, encoder: Encoder) -> ServeProcess:
    """`with serve_process("--workers", "2", handles=128) as (process, address)`: the command itself, on a socket."""
    folder = tmp_path / "index"
    store = open_local(folder, encoder.fingerprint, writable=True)
    store.add(encode_all(DOCUMENTS, encoder))
    store.close()

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
