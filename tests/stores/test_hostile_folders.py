"""An index that somebody else has made, in a folder that was cloned or unpacked: nothing outside of it is touched."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all, words

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.errors import EngineError, IndexDamaged, IndexFailure, SparcSearchError
from sparc_search.loaders.history import note_ingest
from sparc_search.loaders.outcomes import Summary
from sparc_search.stores.derived import DerivedVectors
from sparc_search.stores.exchange import read_header, read_line
from sparc_search.stores.local.checksums import crc


@pytest.fixture
def index(tmp_path: Path, toy_encoder: Encoder) -> Path:
    with open_local(tmp_path / "index", "toy-1", writable=True) as store:
        store.add(encode_all([*DOCUMENTS, *words(12)], toy_encoder))
    return tmp_path / "index"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """What a user has elsewhere."""
    (tmp_path / "home" / "letters").mkdir(parents=True)
    (tmp_path / "home" / "letters" / "one").write_text("Dear Ada")
    (tmp_path / "home" / "profile").write_text("export A=1\n")
    return tmp_path / "home"


def everything(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


LINKS = {
    "data-1/segments": "",
    "data-1/segments/00000009": "letters",
    "data-1/index.db-wal": "profile",
    "data-1/index.db-shm": "profile",
    "data-1/index.db-journal": "profile",
    "CURRENT.new": "profile",
    "write.lock": "profile",
    "data-0": "",
}


@pytest.mark.parametrize("place", LINKS)
def test_a_link_leads_no_writer_elsewhere(index: Path, home: Path, toy_encoder: Encoder, place: str) -> None:
    before = everything(home)
    link = index / place
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(home / LINKS[place])
    with pytest.raises(IndexFailure, match="is a link"), Index.open(index, encoder=toy_encoder) as opened:
        opened.add({"id": "new", "text": "More."})
    assert everything(home) == before


@pytest.mark.parametrize("log", ["-wal", "-shm"])
def test_a_link_leads_no_reader_elsewhere(index: Path, home: Path, toy_encoder: Encoder, log: str) -> None:
    before = everything(home)
    (index / "data-1" / f"index.db{log}").symlink_to(home / "profile")
    with pytest.raises(IndexFailure, match="is a link"), Index.open(index, encoder=toy_encoder) as opened:
        opened.ask("Who climbed the Eiger?")
    assert everything(home) == before


@pytest.mark.parametrize("place", ["CURRENT", "data-1/index.db", "data-1/index.db-wal", "data-1/index.db-journal"])
def test_a_pipe_holds_nobody_up(index: Path, toy_encoder: Encoder, place: str) -> None:
    (index / place).unlink(missing_ok=True)
    os.mkfifo(index / place)
    for act in (lambda i: i.ask("Who climbed the Eiger?"), lambda i: i.add({"id": "new", "text": "More."})):
        with pytest.raises(IndexFailure, match="is a pipe"), Index.open(index, encoder=toy_encoder) as opened:
            act(opened)


def test_a_pipe_among_the_files_of_a_segment_holds_no_backup_up(
    index: Path, toy_encoder: Encoder, tmp_path: Path
) -> None:
    for path in (index / "data-1" / "segments").rglob("*.npy"):
        path.unlink()
        os.mkfifo(path)
    with Index.open(index, encoder=toy_encoder) as opened, pytest.raises(IndexFailure):
        opened.backup(tmp_path / "backup")


@pytest.mark.parametrize("name", ["x" * 5000, "data-" + "1" * 300, "data-\u0661", "data-1\0", "data-", "-1"])
def test_a_name_of_the_version_that_is_none(index: Path, toy_encoder: Encoder, name: str) -> None:
    (index / "CURRENT").write_text(name)
    for act in (lambda i: i.ask("Who climbed the Eiger?"), lambda i: i.add({"id": "new", "text": "More."})):
        with pytest.raises(IndexDamaged, match="does not name"), Index.open(index, encoder=toy_encoder) as opened:
            act(opened)


def test_the_version_that_counts_is_inside(index: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    shutil.copytree(index / "data-1", tmp_path / "data-7")
    (index / "CURRENT").write_text("../data-7\n")
    with pytest.raises(IndexDamaged, match="does not name a version"):
        Index.open(index, encoder=toy_encoder).ask("Who climbed the Eiger?")


@pytest.mark.parametrize(("column", "value"), [("name", "../../../home"), ("files", "../../../../home/profile")])
def test_segments_have_no_files_elsewhere(
    index: Path, home: Path, toy_encoder: Encoder, tmp_path: Path, column: str, value: str
) -> None:
    """Their list has a sum, which whoever changes it can compute."""
    with sqlite3.connect(index / "data-1" / "index.db") as connection:
        (row,) = connection.execute("SELECT name, first, last, passages, files FROM segments").fetchall()
        changed = dict(zip(("name", "first", "last", "passages", "files"), row, strict=True))
        changed[column] = value if column == "name" else json.dumps({value: [11, ""], **json.loads(changed["files"])})
        connection.execute("DELETE FROM segments")
        connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", (*changed.values(), crc(*changed.values()))
        )
    connection.close()
    with pytest.raises(IndexDamaged, match="the list of files"), Index.open(index, encoder=toy_encoder) as opened:
        opened.backup(tmp_path / "backups" / "one")
    assert everything(tmp_path / "backups") == {}


def test_what_is_noted_beside_an_index_follows_no_link(tmp_path: Path, home: Path) -> None:
    before = everything(home)
    (tmp_path / "index.ingests.jsonl").symlink_to(home / "profile")
    note_ingest(tmp_path / "index", Summary(), [])
    assert everything(home) == before


@pytest.mark.parametrize("identity", ["../../home", "/etc", "..", ".", "", "a/b"])
def test_a_server_does_not_choose_where_vectors_are_kept(index: Path, identity: str) -> None:
    with open_local(index, "toy-1") as store, store.view() as view:
        view.identity = identity
        vectors = DerivedVectors(store.engine, index)
        with pytest.raises(EngineError, match="is no name"):
            vectors.search(view, np.zeros((1, 4), np.float32), 3, {})


def test_vectors_that_are_kept_behind_a_link_are_left_alone(index: Path, home: Path) -> None:
    before = everything(home)
    (index.parent / "index.vectors").mkdir()
    (index.parent / "index.vectors" / "index").symlink_to(home)
    with open_local(index, "toy-1") as store, store.view() as view:
        vectors = DerivedVectors(store.engine, index)
        vector = store.fetch(["alps/0"])[0].block.passage_vector
        with suppress(SparcSearchError):  # a folder that may not be written to
            vectors.search(view, vector[None].astype(np.float32), 3, {})
        vectors.close()
    assert everything(home) == before


VALUES = (None, 0, -1, 1e300, 2**70, "", "\ud800", [], {}, {"a": 1}, [1, 2, 3], True)


def test_only_our_own_errors_come_out_of_an_export_that_somebody_has_changed(index: Path, toy_encoder: Encoder) -> None:
    with Index.open(index, encoder=toy_encoder) as opened:
        opened.export(index.parent / "export.jsonl", encoded=True)
    first, line, *_ = (index.parent / "export.jsonl").read_text().splitlines()
    header = read_header(first)
    whole, kept = json.loads(line), []
    for part in (whole, whole["passages"][0]):
        for name, before in list(part.items()):
            for value in VALUES:
                part[name] = value
                with suppress(IndexFailure):
                    read = read_line(json.dumps(whole), header, 2)
                    kept.append(replace(read, document=replace(read.document, id=str(len(kept)))))
            part[name] = before
    assert 0 < len(kept) < len(VALUES) * 10
    with open_local(index.parent / "copy", "toy-1", writable=True) as store:
        store.add_what_fits(kept)
        assert store.verify().problems == ()
