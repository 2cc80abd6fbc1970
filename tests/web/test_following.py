"""A server goes on answering while its index is compacted, made anew, encoded anew, deleted and made again."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from engines import Engine

from sparc_search.index import Index
from sparc_search.settings import Settings
from sparc_search.web import watching
from sparc_search.web.app import create_app

from .conftest import ServeProcess, served

QUESTION = "When was the Eiger climbed?"


class Load:
    """Clients that ask all the time, and what they were told."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.told: Counter[tuple[int, str]] = Counter()
        self.ended = threading.Event()

    def ask(self) -> tuple[int, str]:
        answer = httpx.get(f"{self.address}/api/ask", params={"q": QUESTION}, timeout=300)
        body = answer.json()
        best = body["answers"][0]["text"] if answer.status_code == 200 and body["answers"] else str(body)[:300]
        return answer.status_code, best

    def run(self) -> None:
        while not self.ended.is_set():
            self.told[self.ask()] += 1


@contextmanager
def loaded(address: str, clients: int = 3) -> Iterator[Load]:
    load = Load(address)
    threads = [threading.Thread(target=load.run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.ended.set()
        for thread in threads:
            thread.join()


def eiger(folder: Path, year: int) -> Path:
    file = folder / "eiger.md"
    file.write_text(f"# Eiger\n\nThe Eiger was first climbed in {year} by Charles Barrington.")
    return file


def get(address: str, path: str) -> Any:
    return httpx.get(f"{address}/{path}", timeout=300)


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def settings(engine: Engine, toy_plugin: Path) -> Settings:
    return engine.settings(encoder="toy")


def newer_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the plugin opens another model."""
    module = __import__("sparc_search_toy_encoder")
    made = module.ToyEncoder.__init__

    def initialise(self: Any, fingerprint: str = "toy-2", window: int = 64) -> None:
        made(self, fingerprint, window)

    monkeypatch.setattr(module.ToyEncoder, "__init__", initialise)


def test_no_request_fails_while_the_index_is_replaced(
    engine: Engine, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.create(settings=settings) as index:
        index.ingest(eiger(tmp_path, 1801))
    with Index(settings) as index, served(create_app(index)) as address, loaded(address) as load:
        assert soon(lambda: load.told[200, "1801"] > 0)
        for year in (1802, 1803, 1804):  # each is another version of the index
            with Index(settings) as other:
                other.ingest(eiger(tmp_path, year), rebuild=True)
            assert load.ask() == (200, str(year))
        with Index(settings) as other:
            other.ingest(eiger(tmp_path, 1805))
            other.compact()
        assert load.ask() == (200, "1805")
        newer_toy(monkeypatch)
        with Index(settings) as other:
            assert other.reencode() is not None
        assert soon(lambda: index.encoder.fingerprint == "toy-2")
        with Index(settings) as other:  # what it was encoded from is gone now
            other.ingest(eiger(tmp_path, 1806))
        assert load.ask() == (200, "1806")
    assert {status for status, _ in load.told} == {200}, load.told
    assert {text for _, text in load.told} <= {str(year) for year in range(1801, 1807)}


def test_a_deleted_index_is_told_and_a_new_one_is_served(engine: Engine, settings: Settings, tmp_path: Path) -> None:
    with Index.create(settings=settings) as index:
        index.ingest(eiger(tmp_path, 1801))
    with Index(settings) as index, served(create_app(index)) as address:
        load = Load(address)
        assert load.ask() == (200, "1801")
        if engine.url:
            engine.clean_up()
        else:
            shutil.rmtree(settings.index)
        status, told = load.ask()
        assert status == 503
        assert "there is no index" in told
        assert "ingest PATH" in told
        assert soon(lambda: get(address, "healthz").json() == {"status": "ok", "index": None, "generation": None})
        assert get(address, "readyz").status_code == 503
        with Index.create(settings=settings) as other:
            other.ingest(eiger(tmp_path, 1802))
        assert load.ask() == (200, "1802")
        assert get(address, "readyz").status_code == 200
        assert soon(lambda: get(address, "healthz").json()["generation"] is not None)


def test_health_says_which_state_is_served_though_nobody_asks(tmp_path: Path, toy_plugin: Path) -> None:
    settings = Settings(index=tmp_path / "index", encoder="toy")
    with Index.create(settings=settings) as index:
        index.ingest(eiger(tmp_path, 1801))
    with Index(settings) as index, served(create_app(index)) as address:

        def told() -> Any:
            return get(address, "healthz").json()

        before = told()
        assert before["status"] == "ok"
        with Index(settings) as other:
            other.ingest(eiger(tmp_path, 1802))
        assert soon(lambda: told()["generation"] > before["generation"])
        assert told()["index"] == before["index"]
        with Index(settings) as other:
            other.ingest(eiger(tmp_path, 1803), rebuild=True)
        assert soon(lambda: told()["index"] != before["index"])


def test_a_model_that_is_not_found_here_is_told_once(
    tmp_path: Path, toy_plugin: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(index=tmp_path / "index", encoder="toy")
    with Index.create(settings=settings) as index:
        index.ingest(eiger(tmp_path, 1801))
    with Index(settings) as index, served(create_app(index)) as address:
        index.prepare()
        newer = __import__("sparc_search_toy_encoder").ToyEncoder("toy-2")  # which the server cannot open by its name
        with Index(settings, encoder=newer) as other:
            assert other.reencode() is not None
        assert soon(lambda: get(address, "healthz").json().get("behind", False))
        assert Load(address).ask() == (200, "1801")
        time.sleep(3 * watching.SECONDS)
    lines = [record.getMessage() for record in caplog.records if "toy-2" in record.getMessage()]
    assert len(lines) == 1
    assert "--model" in lines[0]


@pytest.mark.timeout(120)
def test_a_server_follows_a_folder(serve_process: ServeProcess, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "rhine.txt").write_text("The Rhine was first crossed in 1742 by a red boat.")
    with serve_process("--watch", str(notes)) as (process, address):
        assert process.stderr is not None
        assert "1 document indexed" in process.stderr.readline()
        (tmp_path / "made").write_text("The Baltic was first crossed in 1755 by a blue boat.")
        (tmp_path / "made").rename(notes / "baltic.txt")
        assert "1 document indexed" in process.stderr.readline()
        found = httpx.get(f"{address}/api/ask", params={"q": "When was the Baltic crossed by a blue boat?"}, timeout=60)
        assert found.json()["answers"][0]["passage"]["document_id"] == "notes/baltic.txt"
        (tmp_path / "made").write_bytes(b"\0\1\2")
        (tmp_path / "made").rename(notes / "bad.txt")
        assert f"rejected {notes / 'bad.txt'}: " in process.stderr.readline()
        assert "1 rejected" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().endswith("Stopped.\n")
        assert process.wait() == 0
