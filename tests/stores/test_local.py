from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from engines import Store, open_local
from small_corpus import DOCUMENTS, QUERY, all_passages, best, encode_all, encoded, nearest, readers, words

from sparc_search.encoder import Encoder
from sparc_search.errors import (
    DiskFull,
    IndexDamaged,
    IndexFailure,
    IndexLocked,
    IndexMismatch,
    IndexNotFound,
)
from sparc_search.stored import Hits
from sparc_search.stores.local import database, writer


@pytest.fixture
def store(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Store]:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments after every few passages, merges after every few segments."""
    monkeypatch.setattr(writer, "FLUSH", 3)
    monkeypatch.setattr(writer, "MERGE", 3)


@pytest.mark.parametrize("k", [1, 3, 7, 1000])
@pytest.mark.usefixtures("small_segments")
def test_searches_equal_the_definition(tmp_path: Path, toy_encoder: Encoder, k: int) -> None:
    documents = words(40)
    passages = all_passages(documents, toy_encoder)
    (question,) = toy_encoder.encode_questions(["Which red sea is north?"])
    with open_local(tmp_path / "i", toy_encoder.fingerprint, writable=True) as store:
        for begin in range(0, 40, 7):
            store.add(encode_all(documents[begin : begin + 7], toy_encoder))
        for _ in range(2):
            found = store.sparse_search(QUERY, k, {})
            assert found == best(passages, QUERY, k)
            (near,) = store.dense_search(question.passage_vector[None], k, {})
            assert [hit.passage_id for hit in near] == nearest(passages, question.passage_vector, k)
            store.compact()


@pytest.mark.usefixtures("small_segments")
def test_filters_apply_before_the_cut(tmp_path: Path, toy_encoder: Encoder) -> None:
    documents = words(40)
    passages = all_passages([d for d in documents if d.metadata["group"] == "2"], toy_encoder)
    (question,) = toy_encoder.encode_questions(["Which red sea is north?"])
    with open_local(tmp_path / "i", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(documents, toy_encoder))
        where = {"group": "2"}
        assert store.sparse_search(QUERY, 5, where) == best(passages, QUERY, 5)
        (near,) = store.dense_search(question.passage_vector[None], 5, where)
        assert [hit.passage_id for hit in near] == nearest(passages, question.passage_vector, 5)
        assert sorted(store.matching(where)) == [p.passage.id for p in passages]
        store.delete([documents[2].id])
        assert sorted(store.matching(where)) == [p.passage.id for p in passages[1:]]
        assert store.matching({"group": "2", "no": "such"}) == []
        assert len(store.matching({})) == 39


# --- opening ---------------------------------------------------------------------------------------------------------


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="ingest"):
        open_local(tmp_path / "nowhere", "toy-1", writable=False)
    with pytest.raises(IndexNotFound):
        open_local(tmp_path / "nowhere", "", writable=True)


def test_other_files_are_never_taken_for_an_index(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(IndexFailure, match="other files"):
        open_local(tmp_path, "toy-1", writable=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(IndexFailure, match="is a file"):
        open_local(tmp_path / "notes.txt", "toy-1", writable=True)


def test_another_model(tmp_path: Path, store: Store) -> None:
    with pytest.raises(IndexMismatch, match=r"toy-1.*toy-2.*index upgrade"):
        open_local(store.location, "toy-2", writable=False)
    with open_local(store.location, "", writable=False) as reader:
        assert reader.encoder == "toy-1"


@pytest.mark.parametrize(("number", "remedy"), [(99, "newer version"), (0, "index upgrade")])
def test_another_format(tmp_path: Path, store: Store, number: int, remedy: str) -> None:
    store.close()
    database = store.location / "data-1" / "index.db"
    connection = sqlite3.connect(database)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    with pytest.raises(IndexMismatch, match=remedy):
        open_local(store.location, "toy-1", writable=False)


def test_a_second_writer_is_turned_away_by_name(store: Store) -> None:
    with pytest.raises(IndexLocked, match="another process is writing"):
        open_local(store.location, "toy-1", writable=True)
    store.close()
    open_local(store.location, "toy-1", writable=True).close()


def test_the_lock_of_a_dead_process_does_not_hold(tmp_path: Path, toy_encoder: Encoder) -> None:
    code = (
        "import os, sys; from pathlib import Path; from sparc_search.engine import Place\n"
        "from sparc_search.stores.local import LocalEngine\n"
        "engine = LocalEngine.open(Place(Path(sys.argv[1])), 'toy-1', writable=True); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "i")], check=False)
    open_local(tmp_path / "i", "toy-1", writable=True).close()


def test_not_a_database(store: Store) -> None:
    store.close()
    for path in (store.location / "data-1").glob("index.db*"):
        path.unlink()
    (store.location / "data-1" / "index.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(IndexDamaged, match="database"):
        open_local(store.location, "toy-1", writable=False)


def test_a_full_disk_keeps_what_was_acknowledged(store: Store, toy_encoder: Encoder) -> None:
    connection = store.connection  # the writer's
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFull, match="no room"):
        store.add(encode_all(words(200), toy_encoder))
    assert store.statistics([]).passages == 3
    connection.execute("PRAGMA max_page_count = 1073741823")
    store.add(encode_all(words(5), toy_encoder))
    assert store.statistics([]).passages == 8


# --- readers and the writer ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_segments")
def test_a_view_holds_still_while_everything_changes(store: Store, toy_encoder: Encoder) -> None:
    with open_local(store.location, "toy-1", writable=False) as reader, reader.view() as view:
        before = view.sparse_search([{"lex": {"eiger": 1.0}}], 5, {})
        statistics = view.statistics(["eiger", "red"])
        store.delete(["alps"])
        store.add(encode_all(words(20), toy_encoder))
        store.connection.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(IndexFailure, match="older state"):
            store.compact()
        assert view.sparse_search([{"lex": {"eiger": 1.0}}], 5, {}) == before
        assert view.statistics(["eiger", "red"]) == statistics
        assert [p.passage.id for p in view.fetch(["alps/0", "d0-001/0"]).passages] == ["alps/0"]
        with reader.view() as newer:
            assert newer.sparse_search([{"lex": {"eiger": 1.0}}], 5, {}) == [Hits([])]
            assert newer.statistics([]).passages == 21


@pytest.mark.usefixtures("small_segments")
def test_readers_go_on_while_a_writer_writes(store: Store, toy_encoder: Encoder) -> None:
    def look(view: Any) -> None:
        (found,) = view.sparse_search([QUERY], 10, {})
        assert len(view.fetch([hit.passage_id for hit in found.hits]).passages) == len(found.hits)

    with readers(lambda: open_local(store.location, "toy-1", writable=False), look):
        for seed in range(1, 8):
            store.add(encode_all(words(5, seed), toy_encoder))
            store.delete([f"d{seed}-001", f"d{seed - 1}-002"])


def test_when_a_writer_ends_each_segment_is_much_larger_than_the_next(tmp_path: Path, toy_encoder: Encoder) -> None:
    documents = encode_all(words(24), toy_encoder)
    sizes = []
    for some in (documents[:9], documents[9:18], documents[18:19], documents[19:20], documents[20:]):
        with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
            store.add(some)
        with open_local(tmp_path / "index", "", writable=False) as store, store.view() as view:
            sizes.append([len(segment) for segment in view.state.segments])
    assert sizes == [[9], [18], [18, 1], [18, 2], [24]]


@pytest.mark.usefixtures("small_segments")
def test_small_segments_are_put_together(store: Store, toy_encoder: Encoder) -> None:
    for document in words(60):
        store.add([encoded(document, toy_encoder)])
    names = [path.name for path in (store.location / "data-1" / "segments").iterdir()]
    assert 1 <= len(names) <= 10
    assert len(store.sparse_search({"lex": {"%2E": 1.0}}, 1000, {})) == 63


@pytest.mark.usefixtures("small_segments")
def test_a_segment_that_is_mostly_dead_is_written_again(store: Store, toy_encoder: Encoder) -> None:
    store.add(encode_all(words(20), toy_encoder))
    store.delete([f"d0-{n:03d}" for n in range(15)])
    store.add(encode_all(words(3, seed=1), toy_encoder))
    assert store.describe()["deleted passages in segments"] == 0
    assert store.verify().problems == ()


# --- damage ----------------------------------------------------------------------------------------------------------


def segment_files(store: Store) -> list[Path]:
    return sorted((store.location / "data-1" / "segments").glob("*/*"))


def test_a_missing_or_short_file_is_found_at_opening(store: Store) -> None:
    store.close()
    for path in segment_files(store):
        original = path.read_bytes()
        for bad in (None, original[:-1]):
            path.unlink()
            if bad is not None:
                path.write_bytes(bad)
            with (
                open_local(store.location, "toy-1", writable=False) as reader,
                pytest.raises(IndexDamaged, match=r"verify --repair"),
            ):
                reader.sparse_search(QUERY, 3, {})
            path.write_bytes(original)


def test_after_an_unclean_stop_the_sums_are_checked(store: Store, toy_encoder: Encoder) -> None:
    expected = store.sparse_search({"lex": {"eiger": 1.0}}, 3, {})
    store.close()
    path = next(path for path in segment_files(store) if path.name == "posting_packed.npy")
    flip(path, -1)
    with open_local(store.location, "toy-1", writable=False):
        pass  # closed properly: opening looks at sizes and headers only
    mark_unclean(store.location)
    with (
        open_local(store.location, "toy-1", writable=False) as reader,
        pytest.raises(IndexDamaged, match="posting_packed"),
    ):
        reader.statistics([])
    open_local(store.location, "toy-1", writable=True).close()  # a writer makes it again
    with open_local(store.location, "toy-1", writable=False) as reader:
        assert reader.sparse_search({"lex": {"eiger": 1.0}}, 3, {}) == expected


def test_a_reader_that_found_all_well_spares_the_next(store: Store) -> None:
    store.close()
    mark_unclean(store.location)
    with open_local(store.location, "toy-1", writable=False) as reader:
        reader.statistics([])
    connection = sqlite3.connect(store.location / "data-1" / "index.db")
    assert connection.execute("SELECT value FROM meta WHERE key = 'clean'").fetchone() == (1,)
    connection.close()


def test_what_is_touched_is_checked_even_beside_a_writer(store: Store) -> None:
    store.compact()
    flip(next(path for path in segment_files(store) if path.name == "posting_packed.npy"), -1)
    with open_local(store.location, "toy-1", writable=False) as reader, pytest.raises(IndexDamaged, match="changed"):
        reader.sparse_search({"lex": {"eiger": 1.0}}, 3, {})


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_writer_that_does_not_come_to_its_end_leaves_a_mark(store: Store) -> None:
    def is_clean() -> bool:
        with closing(sqlite3.connect(store.location / "data-1" / "index.db")) as connection:
            return connection.execute("SELECT value FROM meta WHERE key = 'clean'").fetchone() == (1,)

    assert not is_clean()  # what a reader finds if it is killed now
    store.close()
    assert is_clean()


def mark_unclean(location: Path) -> None:
    with database.opened(location / "data-1", writable=True) as connection:
        database.write_meta(connection, clean=0)


def test_a_damaged_block_is_said_to_be_one(store: Store) -> None:
    store.close()
    connection = sqlite3.connect(store.location / "data-1" / "index.db")
    connection.execute("UPDATE encoded SET block = substr(block, 1, 100)")
    connection.commit()
    connection.close()
    with open_local(store.location, "toy-1", writable=False) as reader, pytest.raises(IndexDamaged, match="alps/0"):
        reader.fetch(["alps/0"])


def test_what_is_not_listed_is_garbage(store: Store) -> None:
    store.close()
    old = store.location / "data-0"
    old.mkdir()
    garbage = store.location / "data-1" / "segments" / "00000099"
    garbage.mkdir()
    (garbage / "rows.npy").write_bytes(b"half")
    open_local(store.location, "toy-1", writable=True).close()
    assert not garbage.exists()
    assert not old.exists()


def test_an_index_may_be_read_where_nothing_may_be_written(toy_encoder: Encoder) -> None:
    with TemporaryDirectory() as place, without_rights() as drop:
        location = Path(place) / "index"
        with open_local(location, "toy-1", writable=True) as store:
            store.add(encode_all(DOCUMENTS, toy_encoder))
        for path in [Path(place), location, *location.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        drop()
        if os.geteuid() == 0:
            raise AssertionError("still root")
        with pytest.raises(PermissionError):
            (location / "probe").touch()
        with open_local(location, "toy-1", writable=False) as reader:
            assert len(reader.sparse_search({"lex": {"eiger": 1.0}}, 3, {})) == 1


@contextmanager
def without_rights() -> Iterator[Callable[[], None]]:
    """Gives a function that takes root's rights away; others have none to lose."""
    user = os.geteuid()
    try:
        yield lambda: os.seteuid(65534) if user == 0 else None
    finally:
        os.seteuid(user)
