"""What `Index` does besides asking, on every engine: filled, read, emptied, moved, by one writer at a time."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from engines import Engine

from sparc_search import Document, Index, Report
from sparc_search.encoder import Encoder
from sparc_search.errors import (
    ConfigError,
    IndexFailure,
    IndexLocked,
    IndexMismatch,
    IndexNotFound,
    NotThere,
    PluginError,
    UsageError,
)
from sparc_search.loaders.outcomes import IngestProgress, Outcome, Summary
from sparc_search.loaders.plan import Plan
from sparc_search.settings import Settings

EIGER = "The Eiger was first climbed in 1858 by Charles Barrington."
WHEN = "When was the Eiger climbed?"


@pytest.fixture
def index(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Index]:
    with Index.create(tmp_path / "index", settings=Settings(), encoder=toy_encoder) as made:
        yield made


def best(index: Index, question: str = WHEN) -> str:
    reply = index.ask(question)
    return reply.best.text if reply.best else ""


# --- on every engine -------------------------------------------------------------------------------------------------


def test_from_nothing_to_nothing_on_every_engine(engine: Engine, toy_encoder: Encoder, tmp_path: Path) -> None:
    with Index.create(settings=engine.settings(), encoder=toy_encoder) as index:
        assert index.ask(WHEN).best is None
        documents = [{"id": "eiger", "text": EIGER, "metadata": {"year": 1858}}, Document("sea", "A shallow sea.")]
        assert index.add(documents) == Report(indexed=2, passages=2)
        assert best(index) == "1858"
        assert index.ask(WHEN, where={"year": "1858"}).best
        assert index.add(documents) == Report(unchanged=2)
        assert index.document("eiger").text == EIGER
        assert {document.id for document in index.documents()} == {"eiger", "sea"}
        assert [passage.document_id for passage in index.passages("sea")] == ["sea"]
        assert len(list(index.passages())) == 2
        assert index.stats()["documents"] == 2
        assert index.verify(sample=2).ok
        index.export(tmp_path / "all.jsonl", encoded=True)
        assert index.delete(["eiger", "nobody"]) == 1
        assert best(index) != "1858"
        assert index.import_(tmp_path / "all.jsonl").indexed == 1
        assert best(index) == "1858"
        with pytest.raises(NotThere, match="nobody"):
            index.document("nobody")
    with Index.open(settings=engine.settings(), encoder=toy_encoder) as index:
        assert best(index) == "1858"


def test_another_model_on_every_engine(engine: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.create(settings=engine.settings(encoder="toy")) as index:
        index.add(EIGER)
        module = __import__("sparc_search_toy_encoder")
        made = module.ToyEncoder.__init__
        monkeypatch.setattr(module.ToyEncoder, "__init__", lambda self: made(self, "toy-2"))
        report = index.reencode(model="default")
        assert report is not None
        assert report.indexed == 1
        assert index.reencode(model="default") is None
        assert index.encoder.fingerprint == "toy-2"
        assert best(index) == "1858"
        assert index.add(EIGER).unchanged == 1
        assert index.upgrade() is None
    with pytest.raises(IndexMismatch, match=r"toy-2.*toy-1"):
        Index.open(settings=engine.settings(), encoder=toy_encoder)
    with Index(engine.settings(), toy_encoder) as index:
        upgraded = index.upgrade()
        assert upgraded is not None
        assert upgraded.indexed == 1
        assert best(index) == "1858"


# --- opening ---------------------------------------------------------------------------------------------------------


def test_an_index_is_made_once(index: Index, toy_encoder: Encoder) -> None:
    index.add(EIGER)
    index.close()
    place = index.settings.index
    with pytest.raises(IndexFailure, match="already"):
        Index.create(place, settings=Settings(), encoder=toy_encoder)
    with Index.create(place, settings=Settings(), encoder=toy_encoder, exist_ok=True) as again:
        assert best(again) == "1858"


def test_what_is_not_there_is_not_opened_nor_made(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="nowhere"):
        Index.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_keywords_are_settings(index: Index, toy_plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add(EIGER)
    monkeypatch.setenv("SPARC_SEARCH_TOP_K", "2")
    with Index.open(str(index.settings.index), encoder="toy", strategy="sparse") as other:
        assert (other.settings.top_k, other.ask(WHEN).strategy, other.settings.encoder) == (2, "sparse", "toy")
    for wrong, error in (({"stratgy": "x"}, "strategy"), ({"top_k": 0}, "from 1 to"), ({"strategy": "x"}, "hybrid")):
        with pytest.raises(ConfigError, match=error):
            Index.open(index.settings.index, **wrong)
    with pytest.raises(PluginError, match="opensearch"):
        Index.open(index.settings.index, engine="opensaerch")


def test_no_model_is_loaded_before_it_is_needed(index: Index, tmp_path: Path) -> None:
    index.add({"id": "eiger", "text": EIGER})
    index.close()
    with Index.open(index.settings.index, model=str(tmp_path / "no-model")) as opened:
        assert opened.stats()["documents"] == 1
        assert opened.document("eiger").text == EIGER
        opened.export(tmp_path / "export.jsonl")
        assert opened.verify(sample=0).ok
        assert opened.delete("eiger") == 1
        with pytest.raises(Exception, match="no-model"):
            opened.ask(WHEN)


# --- one writer, many readers ----------------------------------------------------------------------------------------


def test_the_first_write_takes_the_lock_and_close_gives_it_back(index: Index, toy_encoder: Encoder) -> None:
    place = index.settings.index
    index.add(EIGER)
    with Index.open(place, settings=Settings(), encoder=toy_encoder) as other:
        assert best(other) == "1858"  # reading never waits
        with pytest.raises(IndexLocked, match="writing"):
            other.add("Another.")
        index.add({"id": "new", "text": "The Matterhorn was climbed in 1865."})
        assert "1865" in {answer.text for answer in other.ask("When was the Matterhorn climbed?").answers}
        index.close()
        assert other.add("Another.").indexed == 1


def test_threads_ask_while_one_adds_and_another_makes_it_anew(index: Index, tmp_path: Path) -> None:
    index.add(EIGER)
    (tmp_path / "eiger.txt").write_text(EIGER)
    done = threading.Event()

    def ask(_: int) -> int:
        count = 0
        while not done.is_set() or not count:
            assert best(index) == "1858"
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        asking = pool.map(ask, range(3))
        try:
            for number in range(10):
                index.add(f"Document {number} says nothing of mountains.")
            index.ingest(tmp_path / "eiger.txt", rebuild=True)
            index.add("More.")
        finally:
            done.set()
        assert all(asking)
    assert index.stats()["documents"] == 2


def test_threads_write_one_after_the_other(index: Index) -> None:
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda number: index.add(f"Document {number} speaks."), range(12)))
    assert sum(report.indexed for report in reports) == index.stats()["documents"] == 12


def test_many_documents_come_as_a_stream(index: Index) -> None:
    taken = []

    def stream() -> Iterator[str]:
        for number in range(600):
            taken.append(number)
            yield f"Document {number} speaks."

    assert index.add(stream()).indexed == len(taken) == 600


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "eiger.txt").write_text(EIGER)
    (corpus / "bad.txt").write_bytes(b"\x00\xff\x00")
    return corpus


def test_files_are_read_as_the_command_reads_them(index: Index, corpus: Path) -> None:
    events: list[Any] = []
    summary = index.ingest(corpus, on_event=events.append)
    assert (summary.read, summary.indexed, summary.rejected) == (2, 1, 1)
    assert summary.rejects_file == index.settings.index.with_name("index.rejects.jsonl")
    assert isinstance(events[0], Plan)
    assert isinstance(events[-1], Summary)
    assert {type(event) for event in events[1:-1]} == {Outcome, IngestProgress}
    assert best(index) == "1858"
    (corpus / "bad.txt").write_text("Good now.")
    assert index.ingest(retry_rejects=True).rejects_file is None
    (corpus / "eiger.txt").unlink()
    assert index.ingest(corpus, sync=True).deleted == 1
    assert best(index) != "1858"


def test_a_dry_run_needs_no_index_and_makes_none(corpus: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    with Index(Settings(index=tmp_path / "none"), toy_encoder) as index:
        assert index.ingest(corpus, dry_run=True).indexed == 1
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "none.rejects.jsonl").exists()


def test_a_rebuild_that_is_stopped_or_finds_nothing_leaves_the_old_index(index: Index, corpus: Path) -> None:
    index.add("The old index.")
    stop = threading.Event()
    stop.set()
    assert index.ingest(corpus, rebuild=True, stop=stop).stopped == "interrupted"
    assert index.ingest(corpus, rebuild=True, include=["*.exe"]).found_nothing
    assert [document.text for document in index.documents()] == ["The old index."]
    assert index.ingest(corpus, rebuild=True).indexed == 1
    assert [document.text for document in index.documents()] == [EIGER]


def test_wrong_options_are_the_commands_errors(index: Index, corpus: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        index.ingest(corpus, rebuild=True, dry_run=True)
    with pytest.raises(UsageError, match="nothing else"):
        index.ingest(corpus, retry_rejects=True)
    with pytest.raises(PluginError, match="markdown"):
        index.ingest(corpus, format="markdwon")
    with pytest.raises(UsageError, match=r"'exclud'.*exclude"):
        index.ingest(corpus, exclud=["x"])  # type: ignore[call-arg]


# --- moving ----------------------------------------------------------------------------------------------------------


def test_an_export_goes_to_a_stream_and_comes_from_lines(index: Index, tmp_path: Path, toy_encoder: Encoder) -> None:
    index.add([EIGER, {"id": "sea", "text": "A shallow sea."}])
    stream = io.StringIO()
    index.export(stream)
    assert json.loads(stream.getvalue().splitlines()[0])["encoded"] is False
    with Index.create(tmp_path / "copy", settings=Settings(), encoder=toy_encoder) as copy:
        assert copy.import_(stream.getvalue().splitlines()) == Report(indexed=2, passages=2)
        assert best(copy) == "1858"


def test_an_export_with_blocks_is_not_mixed_into_an_index_of_another_model(index: Index, tmp_path: Path) -> None:
    index.add(EIGER)
    index.export(tmp_path / "export.jsonl", encoded=True)
    lines = (tmp_path / "export.jsonl").read_text().replace('"toy-1"', '"toy-9"').splitlines()
    with pytest.raises(IndexMismatch, match="toy-9"):
        index.import_(lines)


def test_a_model_that_cannot_encode_a_document_does_not_lose_it(
    index: Index, monkeypatch: pytest.MonkeyPatch, toy_encoder: Encoder
) -> None:
    index.add([EIGER, {"id": "sea", "text": "A shallow sea."}])
    encode = type(toy_encoder).encode_passages

    class Picky(type(toy_encoder)):  # type: ignore[misc]
        def encode_passages(self, passages: Any) -> Any:
            if any("shallow" in passage.text for passage in passages):
                raise RuntimeError("no water")
            return encode(self, passages)

    index.close()
    with Index(index.settings, Picky("toy-2")) as other:
        with pytest.raises(IndexFailure, match=r"'sea'.*no water"):
            other.reencode()
        assert {document.id for document in other.documents()} >= {"sea"}
    with Index(index.settings, toy_encoder) as same:
        assert best(same) == "1858"
