from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine
from sparc_search.errors import DiskFull, Unsupported, UsageError
from sparc_search.loaders import pipeline
from sparc_search.loaders.outcomes import IngestProgress, Outcome, Summary
from sparc_search.loaders.passages import cut
from sparc_search.loaders.patterns import Filters
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.walk import roots
from sparc_search.opening import open_engine
from sparc_search.settings import Settings
from sparc_search.stored import EncodedDocument

Run = Callable[..., tuple[list[Outcome], Summary]]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "alps.md").write_text("# Alps\n\nThe Eiger was first climbed in 1858 by Charles Barrington of Ireland.\n")
    (corpus / "seas.txt").write_text("The Baltic Sea is shallow.\n\nThe Caspian Sea has no outlet to any ocean at all.")
    (corpus / "more.jsonl").write_bytes(
        b'{"id": "j1", "text": "A document of JSON."}\nnot json\n{"id": "j2", "text": "Another one.", "lang": "en"}\n'
    )
    (corpus / "empty.txt").write_text(" \n")
    (corpus / "picture.png").write_bytes(b"\x89PNG")
    return corpus


def kinds(outcomes: list[Outcome]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.kind, []).append(outcome.document_id or Path(outcome.source).name)
    return {kind: sorted(names) for kind, names in found.items()}


def test_every_document_ends_somewhere(run: Run, store: Any, corpus: Path, toy_encoder: Encoder) -> None:
    outcomes, summary = run(store, corpus)
    assert kinds(outcomes) == {
        "indexed": ["corpus/alps.md", "corpus/seas.txt", "j1", "j2"],
        "rejected": ["more.jsonl"],
        "skipped": ["corpus/empty.txt", "picture.png"],
    }
    assert summary.read == 7 == summary.indexed + summary.unchanged + summary.rejected + summary.skipped
    assert set(store.documents) == {"corpus/alps.md", "corpus/seas.txt", "j1", "j2"}
    alps = store.documents["corpus/alps.md"]
    assert alps.document.source == str(corpus / "alps.md")
    assert [p.passage for p in alps.passages] == cut(alps.document, toy_encoder)
    assert summary.passages == sum(len(document.passages) for document in store.documents.values())
    assert summary.tokens == sum(len(p.block.token_ids) for d in store.documents.values() for p in d.passages)
    assert summary.words == sum(len(document.document.text.split()) for document in store.documents.values())
    assert summary.bytes_per_word == pytest.approx(store.size_in_bytes() / summary.words, abs=0.1)
    assert {"read", "look up", "cut", "encode", "write"} <= set(summary.seconds_by_stage)
    assert summary.reasons["no reader for files .png"] == 1


def test_the_second_run_encodes_only_what_changed(run: Run, store: Any, corpus: Path) -> None:
    run(store, corpus)
    before = dict(store.documents)
    assert kinds(run(store, corpus)[0])["unchanged"] == ["corpus/alps.md", "corpus/seas.txt", "j1", "j2"]
    assert store.documents == before
    (corpus / "alps.md").write_text("# Alps\n\nThe Eiger is high.")
    (corpus / "new.txt").write_text("New.")
    outcomes, summary = run(store, corpus)
    assert kinds(outcomes)["indexed"] == ["corpus/alps.md", "corpus/new.txt"]
    assert (summary.indexed, summary.unchanged, summary.passages) == (2, 3, 2)
    assert store.documents["corpus/alps.md"].document.text.endswith("The Eiger is high.")


def test_a_dry_run_writes_nothing_and_shows_the_first_passages(run: Run, store: Any, corpus: Path) -> None:
    for where in (store, None):
        outcomes, summary = run(where, corpus, dry_run=True)
        assert kinds(outcomes)["indexed"] == ["corpus/alps.md", "corpus/seas.txt", "j1", "j2"]
        assert summary.dry_run
        assert summary.first_passages[0].text.startswith("The Eiger")
        assert len(summary.first_passages) == 4
    assert store.batches == []


def test_the_same_id_twice(run: Run, store: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "x"}\n{"id": 1, "text": "x"}\n{"id": "1", "text": "y"}\n')
    outcomes, _ = run(store, path)
    assert [(outcome.kind, outcome.reason) for outcome in outcomes if outcome.kind != "indexed"] == [
        ("skipped", "the same document a second time"),
        ("rejected", "another document of this run has the id '1'"),
    ]
    assert store.documents["1"].document.text == "x"


def test_a_corpus_name_goes_into_ids_and_metadata(run: Run, store: Any, corpus: Path) -> None:
    run(store, corpus / "more.jsonl", corpus="news")
    assert set(store.documents) == {"news/j1", "news/j2"}
    assert store.documents["news/j2"].document.metadata == {"lang": "en", "corpus": "news"}


def test_half_characters_are_one_reject(run: Run, store: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "half \\ud800"}\n{"text": "ok", "m": "\\udfff"}\n{"text": "whole"}\n')
    outcomes, _ = run(store, tmp_path / "a.jsonl")
    assert kinds(outcomes) == {"indexed": ["a.jsonl#3"], "rejected": ["a.jsonl#1", "a.jsonl#2"]}


def test_too_long_a_document_is_one_reject(run: Run, store: Any, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("word " * 2_000_001)
    ((outcome,), _) = run(store, tmp_path / "long.txt")
    assert (outcome.kind, outcome.reason.split(",")[0]) == ("rejected", "10")


def test_standard_input_is_a_source(run: Run, store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_text('{"text": "from a pipe"}\n')
    with (tmp_path / "in").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        run(store, "-")
    assert store.documents["stdin#1"].document.source == "-"


@pytest.mark.parametrize("format", ["", "html"])
def test_a_page_from_a_pipe_goes_through_the_sandbox(
    run: Run, store: Any, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    out, into = os.pipe()
    os.write(into, b"<!doctype html><title>T</title><p>From a pipe.")
    os.close(into)
    with os.fdopen(out) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        run(store, "-", format=format)
    assert store.documents["stdin"].document.text == "From a pipe."


def test_gzip_is_read_through(run: Run, store: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "packed"}\n'))
    (tmp_path / "b.md.gz").write_bytes(gzip.compress(b"# Title\n\nText."))
    (tmp_path / "bomb.txt.gz").write_bytes(gzip.compress(bytes(200 << 20)))
    outcomes, _ = run(store, tmp_path)
    name = tmp_path.name
    assert kinds(outcomes) == {"indexed": [f"{name}/a.jsonl.gz#1", f"{name}/b.md.gz"], "rejected": ["bomb.txt.gz"]}
    assert store.documents[f"{name}/b.md.gz"].document.title == "Title"


def many(folder: Path, count: int) -> Path:
    path = folder / "many.jsonl"
    with path.open("w") as file:
        for number in range(count):
            file.write(json.dumps({"id": f"d{number}", "text": f"Document {number} speaks."}) + "\n")
    return path


def test_documents_are_written_in_batches_and_told_afterwards(store: Any, tmp_path: Path, toy_encoder: Encoder) -> None:
    plan = Plan(roots([str(many(tmp_path, 1100))]), batch_tokens=64)
    for event in ingest(plan, toy_encoder, store):
        if isinstance(event, Outcome):
            assert event.document_id in store.documents, "told before it was durable"
    assert len(store.documents) == 1100
    assert 2 <= len(store.batches) < 100


def test_what_is_under_way_is_bounded(
    store: Any, tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the encoder stands still, the reader stops too."""
    monkeypatch.setattr(pipeline, "UNDER_WAY", 50_000)
    gate, reads = threading.Event(), []
    real = type(toy_encoder).encode_passages

    class Slow(type(toy_encoder)):  # type: ignore[misc]
        def encode_passages(self, passages: Sequence[Any]) -> Any:
            gate.wait(timeout=60)
            return real(self, passages)

    real_position = pipeline.Reading.everything

    def counted(self: Any, found: Any) -> Iterator[Any]:
        for item in real_position(self, found):
            reads.append(item)
            yield item

    monkeypatch.setattr(pipeline.Reading, "everything", counted)
    ticks = 0
    for event in ingest(Plan(roots([str(many(tmp_path, 300))])), Slow(), store):
        if isinstance(event, IngestProgress):
            ticks += 1
            if ticks == 6 and not gate.is_set():  # half a second between ticks: time enough to read them all
                assert len(reads) < 100
                gate.set()
    assert len(store.documents) == 300


def test_a_document_larger_than_the_bound_goes_through(
    run: Run, store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "UNDER_WAY", 5_000)
    path = tmp_path / "mixed.jsonl"
    with path.open("w") as file:
        for number in range(20):
            text = ("Some words here.\n\n" * 600) if number % 5 == 0 else "Short."
            file.write(json.dumps({"text": text}) + "\n")
    assert run(store, path)[1].indexed == 20


def test_several_readers_read_everything_once(run: Run, store: Any, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(40):
        (corpus / f"{number}.html").write_text(f"<h1>Page {number}</h1><p>Words.")
        (corpus / f"{number}.jsonl").write_text('{"text": "One."}\nbad\n{"text": "Two."}\n')
    _, summary = run(store, corpus, readers=3)
    assert (summary.indexed, summary.rejected, summary.read) == (120, 40, 160)
    assert len(store.documents) == 120


def test_stopping_finishes_what_is_in_flight_and_going_on_misses_nothing(
    store: Any, tmp_path: Path, toy_encoder: Encoder, run: Run
) -> None:
    path = many(tmp_path, 1500)
    stop = threading.Event()
    told = []
    summary = None
    for event in ingest(Plan(roots([str(path)]), batch_tokens=32), toy_encoder, store, stop):
        if isinstance(event, Outcome):
            told.append(event.document_id)
            stop.set()
        elif isinstance(event, Summary):
            summary = event
    assert summary is not None
    assert summary.stopped == "interrupted"
    assert 0 < summary.indexed == len(told) == len(store.documents) < 1500
    assert summary.read == summary.indexed + summary.unfinished
    _, rest = run(store, path)
    assert (rest.unchanged, rest.indexed) == (len(told), 1500 - len(told))
    assert len(store.documents) == 1500


def test_leaving_the_loop_ends_the_threads(store: Any, tmp_path: Path, toy_encoder: Encoder) -> None:
    before = threading.active_count()
    events = ingest(Plan(roots([str(many(tmp_path, 300))])), toy_encoder, store)
    next(events)
    events.close()
    assert threading.active_count() == before


def test_too_many_rejects_stop_the_run(run: Run, store: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("bad\n" * 5 + '{"text": "good"}\n')
    assert run(store, tmp_path, max_rejects=5)[1].stopped == ""
    _, summary = run(store, tmp_path, max_rejects=4, sync=True)
    assert summary.stopped == "too many rejects"
    assert store.deleted == []


def test_a_full_disk_ends_the_run(store: Any, corpus: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(documents: Sequence[EncodedDocument]) -> None:
        raise DiskFull("no room", "free some")

    monkeypatch.setattr(store, "add", full)
    with pytest.raises(DiskFull):
        run(store, corpus)


def test_a_fault_of_the_reading_thread_ends_the_run(store: Any, corpus: Path, run: Run) -> None:
    with pytest.raises(UsageError, match="bad pattern"):
        run(store, corpus, filters=Filters(include=["[z-a]"]))


def test_a_store_is_needed(corpus: Path, toy_encoder: Encoder) -> None:
    with pytest.raises(UsageError, match="nowhere to write"):
        list(ingest(Plan(roots([str(corpus)])), toy_encoder, None))


# --- sync ------------------------------------------------------------------------------------------------------------


def test_sync_deletes_what_vanished_and_nothing_else(run: Run, store: Any, corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "corpus2"
    other.mkdir()
    (other / "x.txt").write_text("Other.")
    run(store, corpus, other)
    (corpus / "seas.txt").unlink()
    (corpus / "more.jsonl").write_text('{"id": "j2", "text": "Another one.", "lang": "en"}\n')
    outcomes, summary = run(store, corpus, sync=True, dry_run=True)
    assert summary.deleted == 2
    assert store.deleted == []
    outcomes, summary = run(store, corpus, sync=True)
    assert kinds(outcomes)["deleted"] == sorted(store.deleted) == ["corpus/seas.txt", "j1"]
    assert set(store.documents) == {"corpus/alps.md", "j2", "corpus2/x.txt"}
    assert summary.read == summary.indexed + summary.unchanged + summary.rejected + summary.skipped


def test_sync_keeps_what_could_not_be_read_or_is_left_out(run: Run, store: Any, corpus: Path) -> None:
    run(store, corpus)
    (corpus / "seas.txt").write_bytes(b"\xff")
    (corpus / "more.jsonl").write_text('bad\n{"id": "j2", "text": "Another one.", "lang": "en"}\n')
    run(store, corpus, sync=True, filters=Filters(exclude=["alps*"]))
    assert store.deleted == []
    (corpus / "deep").mkdir()
    (corpus / "deep" / "a.txt").write_text("Deep.")
    run(store, corpus)
    (corpus / "deep" / "a.txt").unlink()
    run(store, corpus, sync=True, filters=Filters(exclude=["deep"]))
    run(store, corpus, sync=True, filters=Filters(include=["*.md"]))
    assert store.deleted == []
    run(store, corpus, sync=True)
    assert store.deleted == ["corpus/deep/a.txt"]


def test_sync_deletes_a_document_that_has_become_empty(run: Run, store: Any, corpus: Path) -> None:
    run(store, corpus)
    (corpus / "seas.txt").write_text("\n")
    run(store, corpus, sync=True)
    assert store.deleted == ["corpus/seas.txt"]


def test_sync_of_one_corpus_leaves_the_others(run: Run, store: Any, corpus: Path) -> None:
    run(store, corpus, corpus="a")
    run(store, corpus, corpus="b")
    (corpus / "seas.txt").unlink()
    run(store, corpus, corpus="b", sync=True)
    assert store.deleted == ["b/corpus/seas.txt"]


def test_sync_of_a_glob_and_of_a_file(run: Run, store: Any, corpus: Path) -> None:
    run(store, corpus)
    (corpus / "seas.txt").unlink()
    run(store, f"{corpus}/*.md", sync=True)
    run(store, corpus / "more.jsonl", sync=True)
    assert store.deleted == []
    run(store, f"{corpus}/*.txt", sync=True)
    assert store.deleted == ["corpus/seas.txt"]


def test_sync_needs_an_engine_that_knows_its_sources(
    corpus: Path, toy_encoder: Encoder, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.view() as view:
        monkeypatch.delattr(type(view), "documents_from")
    with pytest.raises(Unsupported, match="--sync"):
        list(ingest(Plan(roots([str(corpus)]), sync=True), toy_encoder, store))
    assert store.batches == []


# --- the real store --------------------------------------------------------------------------------------------------


@pytest.fixture
def local(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Engine]:
    with open_engine(Settings(index=tmp_path / "index"), toy_encoder.fingerprint, writable=True) as engine:
        yield engine


def test_the_local_engine_takes_it_all(run: Run, local: Engine, corpus: Path, toy_encoder: Encoder) -> None:
    _, first = run(local, corpus)
    assert (first.indexed, first.rejected) == (4, 1)
    assert first.bytes_per_word
    _, second = run(local, corpus)
    assert (second.unchanged, second.indexed) == (4, 0)
    (corpus / "seas.txt").unlink()
    _, third = run(local, corpus, sync=True)
    assert third.deleted == 1
    with local.view() as view:
        assert set(view.content_hashes(["corpus/alps.md", "corpus/seas.txt", "j1"])) == {"corpus/alps.md", "j1"}
