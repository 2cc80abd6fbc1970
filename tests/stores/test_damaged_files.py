"""Whatever has become of the files of an index: an error of the package, with a remedy, or the answers as before."""

from __future__ import annotations

import errno
import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all, words

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.errors import DiskFull, IndexDamaged, IndexFailure, IndexLocked, SparcSearchError
from sparc_search.opening import open_engine, rebuild_engine
from sparc_search.settings import Settings
from sparc_search.stores.local import database, layout, writer

QUESTION = "Who climbed the Eiger in 1858?"


@pytest.fixture
def index(tmp_path: Path, toy_encoder: Encoder) -> Path:
    with open_local(tmp_path / "index", "toy-1", writable=True) as store:
        store.add(encode_all([*DOCUMENTS, *words(12)], toy_encoder))
        store.delete(["d0-003"])
    return tmp_path / "index"


def use(index: Path, encoder: Encoder) -> list[object]:
    """Everything that reads: ask, list, export, verify."""
    with Index.open(index, encoder=encoder) as opened:
        answers = [[(a.text, a.score) for a in opened.ask(QUESTION, strategy=s).answers] for s in ("sparse", "dense")]
        listed = [passage.text for passage in opened.passages()]
        documents = [document.text for document in opened.documents()]
        opened.verify(sample=0)  # may find what nothing else looks at
        return [answers, listed, documents]


def files(index: Path) -> list[Path]:
    """Those that last; SQLite's log and shared memory come and go."""
    return [path for path in sorted(index.rglob("*")) if path.suffix in (".db", ".npy") or path.name == layout.CURRENT]


def noise(data: bytes, chance: random.Random) -> bytes:
    return bytes(chance.randrange(256) for _ in data[:600]) + data[600:]


DAMAGE: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": lambda data, chance: data[: chance.randrange(len(data))],
    "noise at the head": noise,
    "noise within": lambda data, chance: data[:-40] + noise(data[-40:], chance),
    "zeros": lambda data, chance: bytes(len(data)),
    "zeros within": lambda data, chance: data[: len(data) // 3] + bytes(64) + data[len(data) // 3 + 64 :],
    "longer": lambda data, chance: data + b"\0" * 4096,
}


def remedy_or(right: object, act: Callable[[], object]) -> bool:
    """Whether something comes out as it should, or else an error of ours that does not advise to delete anything."""
    try:
        return act() == right
    except SparcSearchError as error:
        return bool(error.remedy) and "delete" not in error.remedy


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_gives_an_error_of_ours(index: Path, toy_encoder: Encoder, damage: str) -> None:
    chance, right = random.Random(damage), use(index, toy_encoder)
    for path in files(index):
        data = path.read_bytes()
        path.write_bytes(DAMAGE[damage](data, chance))
        assert remedy_or(right, lambda: use(index, toy_encoder)), path
        path.write_bytes(data)
        for left in index.rglob("index.db-*"):
            left.unlink()
    assert use(index, toy_encoder) == right


def test_a_file_that_has_become_a_folder(index: Path, toy_encoder: Encoder) -> None:
    for path in files(index):
        moved = path.rename(path.with_name("moved"))
        path.mkdir()
        with pytest.raises(SparcSearchError):
            use(index, toy_encoder)
        shutil.rmtree(path)
        moved.rename(path)


def test_a_lost_name_of_the_version_is_not_taken_for_no_index(index: Path, toy_encoder: Encoder) -> None:
    (index / layout.CURRENT).write_text("data-9\n")
    with pytest.raises(IndexDamaged, match="data-1"):
        open_local(index, "toy-1", writable=True)
    assert (index / "data-1" / database.FILE).exists()


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EROFS, IndexFailure), (errno.EIO, IndexFailure)],
)
def test_what_a_disk_does_not_do(tmp_path: Path, code: int, kind: type[IndexFailure]) -> None:
    with pytest.raises(kind) as caught, database.translated(tmp_path):
        raise OSError(code, "said the disk")
    assert caught.value.remedy


def test_a_database_that_others_use_is_no_damage(index: Path) -> None:
    folder = index / "data-1"
    other = sqlite3.connect(folder / database.FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with database.opened(folder, writable=True) as connection:
        connection.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(IndexLocked), database.translated(folder):
            database.write_meta(connection, clean=1)
    other.close()


@pytest.mark.parametrize("fact", ["generation", "encoder", "checksum", "all of them"])
def test_damaged_facts_are_told_and_both_remedies_help(
    index: Path, toy_encoder: Encoder, tmp_path: Path, fact: str
) -> None:
    right = use(index, toy_encoder)
    with Index.open(index, encoder=toy_encoder) as opened:
        opened.backup(tmp_path / "backup")
    for remedy in ("restore", "rebuild"):
        with sqlite3.connect(layout.current(index) / database.FILE) as connection:
            where = "" if fact == "all of them" else f" WHERE key = '{fact}'"
            connection.execute(f"UPDATE meta SET value = 7{where}")
        connection.close()
        with pytest.raises(IndexDamaged, match=r"table of facts.*index restore.*ingest --rebuild"):
            use(index, toy_encoder)
        if remedy == "restore":
            Index.restore(tmp_path / "backup", index, encoder=toy_encoder, replace=True).close()
        else:
            with rebuild_engine(Settings(index=index), "toy-1") as new:
                new.writer().add(encode_all([*DOCUMENTS, *words(12)], toy_encoder))
                new.writer().delete(["d0-003"])
        assert use(index, toy_encoder) == right


@pytest.mark.parametrize("step", ["write_meta", "remove_old", "switch"])
def test_a_full_disk_when_a_writer_begins_or_a_version_takes_over(
    index: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL

    def fail(*_: object, **__: object) -> None:
        raise full if step == "write_meta" else OSError(errno.ENOSPC, "No space left on device")

    right = use(index, toy_encoder)
    begin = rebuild_engine if step == "switch" else partial(open_engine, writable=True)
    with monkeypatch.context() as patched:
        patched.setattr(writer if step == "write_meta" else layout, step, fail)
        with pytest.raises(DiskFull, match="no room left"), begin(Settings(index=index), "toy-1"):
            pass
    assert use(index, toy_encoder) == right
    open_local(index, "toy-1", writable=True).close()
