"""A small index behind an application, behind a client; and the same behind a real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from small_corpus import DOCUMENTS, encode_all
from starlette.testclient import TestClient

from sparc_search import plugins
from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.settings import load
from sparc_search.web import serving
from sparc_search.web.app import create_app

MakeIndex = Callable[..., Index]


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
        store = plugins.load("stores", "local")(folder, encoder.fingerprint, writable=True)
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
        config = uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False)  # type: ignore[arg-type]
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield serving.address_of(listening).rstrip("/")
        finally:
            server.should_exit = True
            thread.join()
