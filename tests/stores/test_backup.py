"""Backup and restore of an index in a folder: one state, whole, whatever a writer does meanwhile."""

from __future__ import annotations

import json
import random
import tarfile
import threading
from pathlib import Path

import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all, words

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.engine import Place
from sparc_search.errors import DiskFull, IndexDamaged, IndexFailure, UsageError
from sparc_search.stores.local import points
from sparc_search.stores.local.backup import MANIFEST, _sum, back_up
from sparc_search.stores.local.engine import LocalEngine

QUESTION = "Who climbed the Eiger in 1858?"


@pytest.fixture
def index(tmp_path: Path, toy_encoder: Encoder) -> Path:
    with open_local(tmp_path / "index", "toy-1", writable=True) as store:
        store.add(encode_all([*DOCUMENTS, *words(12)], toy_encoder))
        store.delete(["d0-003"])
    return tmp_path / "index"


def answers(index: Path, encoder: Encoder) -> list[tuple[str, float]]:
    with Index.open(index, encoder=encoder) as opened:
        return [(answer.text, answer.score) for answer in opened.ask(QUESTION).answers]


@pytest.mark.parametrize("name", ["folder", "file.tar", "file.tar.gz", "file.tgz"])
def test_there_and_back(index: Path, tmp_path: Path, toy_encoder: Encoder, name: str) -> None:
    with Index.open(index, encoder=toy_encoder) as opened:
        facts = opened.backup(tmp_path / "backups" / name)
    assert (facts["documents"], facts["encoder"]) == (13, "toy-1")
    assert [path.name for path in (tmp_path / "backups").iterdir()] == [name]
    with Index.restore(tmp_path / "backups" / name, tmp_path / "other", encoder=toy_encoder) as copy:
        assert copy.verify().ok
        assert copy.stats()["generation"] == facts["generation"]
    assert answers(tmp_path / "other", toy_encoder) == answers(index, toy_encoder)
    with open_local(tmp_path / "other", "toy-1", writable=True) as store:
        assert store.delete(["alps"]) == 1
        with store.view() as view, open_local(index).view() as original:
            assert view.identity != original.identity  # what was derived from the one is not taken for the other's


def test_backups_under_a_writer_are_states_that_were_committed(tmp_path: Path, toy_encoder: Encoder) -> None:
    batches = [encode_all(words(3, seed), toy_encoder) for seed in range(8)]
    with open_local(tmp_path / "index", "toy-1", writable=True) as store:
        store.add(batches[0])
        stop = threading.Event()

        def write() -> None:
            for number in range(1, 1000):
                if stop.is_set():
                    return
                batch = batches[number % len(batches)]
                store.add(batch)
                store.flush()  # segments come and go
                if number % 3 == 0:
                    store.delete([document.document.id for document in batch])

        writing = threading.Thread(target=write)
        writing.start()
        try:
            made = [back_up(tmp_path / "index" / "data-1", tmp_path / f"backup-{n}") for n in range(6)]
        finally:
            stop.set()
            writing.join()
    assert all(facts["documents"] % 3 == 0 for facts in made)  # a batch is there or not
    generations = [facts["generation"] for facts in made]
    assert generations == sorted(generations)
    for number, facts in enumerate(made):
        LocalEngine.restore(Place(tmp_path / f"again-{number}"), tmp_path / f"backup-{number}", replace=False)
        with open_local(tmp_path / f"again-{number}") as copy:
            assert len(list(copy.documents())) == facts["documents"]


def test_a_damaged_backup_is_refused_and_nothing_has_changed(index: Path, tmp_path: Path) -> None:
    chance = random.Random(7)
    back_up(index / "data-1", tmp_path / "backup")
    files = [path for path in sorted((tmp_path / "backup").rglob("*")) if path.is_file()]
    for path in files:
        data = path.read_bytes()
        place = chance.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :])
        with pytest.raises(IndexDamaged, match="not whole"):
            LocalEngine.restore(Place(tmp_path / "new"), tmp_path / "backup", replace=False)
        assert not (tmp_path / "new").exists()
        path.write_bytes(data)
    LocalEngine.restore(Place(tmp_path / "new"), tmp_path / "backup", replace=False)


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "escape"])
def test_a_damaged_file_is_refused(index: Path, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "backup.tar.gz"
    back_up(index / "data-1", file)
    data = file.read_bytes()
    file.write_bytes({"cut": data[: len(data) // 2], "noise": b"noise" * 99, "empty": b"", "escape": data}[damage])
    if damage == "escape":
        with tarfile.open(file, "w:gz") as archive:
            archive.add(index / "CURRENT", "../outside")
    with pytest.raises(IndexDamaged, match="not whole"):
        LocalEngine.restore(Place(tmp_path / "new"), file, replace=False)
    assert not (tmp_path / "new").exists()
    assert not (tmp_path.parent / "outside").exists()


@pytest.mark.parametrize("hostile", ["link", "other", "huge"])
def test_a_tar_file_that_holds_more_than_a_backup_is_refused(index: Path, tmp_path: Path, hostile: str) -> None:
    """Such as a link, through which a later part would be written elsewhere."""
    file, outside = tmp_path / "backup.tar", tmp_path / "outside"
    back_up(index / "data-1", tmp_path / "backup")
    with tarfile.open(file, "w") as archive:
        part = tarfile.TarInfo({"link": "segments", "other": "index.db-wal", "huge": "index.db"}[hostile])
        if hostile == "link":
            part.type, part.linkname = tarfile.SYMTYPE, "../outside"
        archive.addfile(part)
        archive.add(tmp_path / "backup", ".")
    if hostile == "huge":  # says of itself that no disk would hold it
        part.size = 1 << 60
        file.write_bytes(part.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(DiskFull if hostile == "huge" else IndexDamaged):
        LocalEngine.restore(Place(tmp_path / "new"), file, replace=False)
    assert not (tmp_path / "new").exists()
    assert not outside.exists()


def test_only_what_is_listed_is_restored(index: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    """A log beside the database would be taken for newer than the file whose sum was checked."""
    back_up(index / "data-1", tmp_path / "backup")
    for name in ("index.db-wal", "index.db-journal", "segments/more"):
        (tmp_path / "backup" / name).write_bytes(b"hostile")
    LocalEngine.restore(Place(tmp_path / "new"), tmp_path / "backup", replace=False)
    assert answers(tmp_path / "new", toy_encoder) == answers(index, toy_encoder)
    assert not [path for path in (tmp_path / "new").rglob("*") if path.is_file() and path.read_bytes() == b"hostile"]


def test_a_damaged_index_is_not_backed_up(index: Path, tmp_path: Path) -> None:
    path = next((index / "data-1" / "segments").rglob("posting_packed.npy"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamaged, match="so would be its backup"):
        back_up(index / "data-1", tmp_path / "backups" / "backup")
    assert list((tmp_path / "backups").iterdir()) == []


def test_nothing_is_overwritten_unless_it_is_said(index: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    before = answers(index, toy_encoder)
    back_up(index / "data-1", tmp_path / "backup")
    with pytest.raises(UsageError, match="there already"):
        back_up(index / "data-1", tmp_path / "backup")
    with open_local(index, "toy-1", writable=True) as store:
        store.delete(["alps"])
    with pytest.raises(UsageError, match="--replace"):
        LocalEngine.restore(Place(index), tmp_path / "backup", replace=False)
    assert answers(index, toy_encoder) != before
    LocalEngine.restore(Place(index), tmp_path / "backup", replace=True)
    assert answers(index, toy_encoder) == before
    (index / "CURRENT").write_text("daba-1\n")  # a restore brings back what cannot be opened any more
    LocalEngine.restore(Place(index), tmp_path / "backup", replace=True)
    assert answers(index, toy_encoder) == before


@pytest.mark.parametrize("point", ["backup verified", "rebuilt beside"])
def test_one_that_is_stopped_leaves_what_was(
    index: Path, tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def stop(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    before = answers(index, toy_encoder)
    back_up(index / "data-1", tmp_path / "backup")
    monkeypatch.setattr(points, "reached", stop)
    (tmp_path / "backups").mkdir()
    act = {
        "backup verified": lambda: back_up(index / "data-1", tmp_path / "backups" / "other"),
        "rebuilt beside": lambda: LocalEngine.restore(Place(index), tmp_path / "backup", replace=True),
    }
    with pytest.raises(KeyboardInterrupt):
        act[point]()
    assert list((tmp_path / "backups").iterdir()) == []
    assert answers(index, toy_encoder) == before


def test_what_is_no_backup_is_said(index: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no backup"):
        LocalEngine.restore(Place(tmp_path / "new"), tmp_path / "nothing", replace=False)
    with pytest.raises(IndexDamaged, match=r"backup\.json"):
        LocalEngine.restore(Place(tmp_path / "new"), index, replace=False)
    back_up(index / "data-1", tmp_path / "backup")
    manifest = json.loads((tmp_path / "backup" / MANIFEST).read_text())
    other = {**manifest, "format": 99}
    del other["sum"]
    (tmp_path / "backup" / MANIFEST).write_text(json.dumps({**other, "sum": _sum(other)}))
    with pytest.raises(IndexFailure, match="format 99"):
        LocalEngine.restore(Place(tmp_path / "new"), tmp_path / "backup", replace=False)
