"""A reader that stays open follows whatever is done to the index elsewhere: the same tests for every engine."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from engines import Engine, Store, open_local
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexMismatch, IndexNotFound
from sparc_search.records import Document
from sparc_search.stores import page_sums, vector_index
from sparc_search.stores.local import database, layout


def texts(store: Store) -> list[str]:
    return [document.text for document in store.texts()]


def fill(store: Store, encoder: Encoder, *texts: str) -> None:
    store.add(encode_all([Document(f"doc-{number}", text) for number, text in enumerate(texts)], encoder))


def test_a_reader_follows_a_rebuild(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.open() as writer:
        fill(writer, toy_encoder, "A red sea.")
    with engine.open(writable=False) as reader:
        assert texts(reader) == ["A red sea."]
        for number in range(3):
            with reader.view() as held:
                with engine.rebuild() as new:
                    fill(new, toy_encoder, f"Blue lake {number}.", "A green lake.")
                assert [hit.passage_id for hit in held.sparse_search([{"lex": {"sea": 1.0}}], 9, {})[0].hits] == (
                    ["doc-0/0"] if not number else []
                )
                identity = held.identity
            assert texts(reader) == [f"Blue lake {number}.", "A green lake."]
            assert {hit.passage_id for hit in reader.sparse_search({"lex": {"lake": 1.0}}, 9, {})} == {
                "doc-0/0",
                "doc-1/0",
            }
            with reader.view() as now:
                assert now.identity != identity


def test_a_reader_of_another_model_stays_with_the_version_before(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.open() as writer:
        fill(writer, toy_encoder, "A red sea.")
    with engine.open(writable=False) as reader, engine.open("", writable=False) as any_model:
        assert texts(any_model) == ["A red sea."]
        with engine.rebuild("toy-2") as new:
            fill(new, toy_encoder, "A blue lake.")
        assert texts(any_model) == ["A blue lake."]
        assert any_model.engine.encoder == "toy-2"
        assert texts(reader) == ["A red sea."]
        assert "toy-2" in str(reader.engine.behind)
        with engine.rebuild() as new:
            fill(new, toy_encoder, "A green lake.")
        assert texts(reader) == ["A green lake."]
        assert reader.engine.behind is None


def test_a_deleted_index_is_told_and_a_new_one_found(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.open() as writer:
        fill(writer, toy_encoder, "A red sea.")
    with engine.open(writable=False) as reader:
        assert texts(reader) == ["A red sea."]
        if engine.url:
            engine.clean_up()
        else:
            shutil.rmtree(engine.folder / "index")
        for _ in range(2):
            with pytest.raises(IndexNotFound, match="ingest PATH"):
                texts(reader)
        with engine.open() as writer:
            fill(writer, toy_encoder, "A blue lake.")
        assert texts(reader) == ["A blue lake."]


# --- on a server -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", ["passages", "documents"])
def test_when_a_half_was_deleted_the_remedy_helps(opensearch: Engine, toy_encoder: Encoder, half: str) -> None:
    with opensearch.open() as writer:
        fill(writer, toy_encoder, "A red sea.")
    with opensearch.open(writable=False) as reader:
        assert len(reader.sparse_search({"lex": {"sea": 1.0}}, 9, {})) == 1
        documents = half == "documents"
        names = [name for name in opensearch.indices() if not name.endswith("-control")]
        (deleted,) = (name for name in names if name.endswith("-documents") == documents)
        opensearch.request("DELETE", f"/{deleted}")
        while deleted in opensearch.indices():  # a server with much to do says so before it is done
            time.sleep(0.1)
        with pytest.raises(IndexNotFound):
            reader.sparse_search({"lex": {"sea": 1.0}}, 9, {})
        with pytest.raises(IndexNotFound, match="ingest --rebuild PATH"):
            opensearch.open()
        assert len(opensearch.indices()) == 2  # and nothing more is gone
        with opensearch.rebuild() as new:
            fill(new, toy_encoder, "A blue lake.")
        assert len(reader.sparse_search({"lex": {"lake": 1.0}}, 9, {})) == 1


# --- in a folder -----------------------------------------------------------------------------------------------------


def test_a_model_that_nobody_has_is_told_when_the_version_before_is_gone(tmp_path: Path, toy_encoder: Encoder) -> None:
    engine = Engine("local", tmp_path)
    with engine.open() as writer:
        fill(writer, toy_encoder, "A red sea.")
    with engine.open(writable=False) as reader:
        with engine.rebuild("toy-2") as new:
            fill(new, toy_encoder, "A blue lake.")
        assert texts(reader) == ["A red sea."]
        engine.open("toy-2").close()  # whoever writes next removes what does not count any more
        with pytest.raises(IndexMismatch, match="toy-2"):
            texts(reader)


def test_an_index_that_is_replaced_while_it_is_opened(
    tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine("local", tmp_path)
    with engine.open() as writer:
        fill(writer, toy_encoder, "A red sea.")
    current = layout.current

    def replaced(location: Path) -> Path:
        """Which version counts; when that is known it does not any more, and its files are gone."""
        monkeypatch.setattr(layout, "current", current)
        found = current(location)
        with engine.rebuild() as new:
            fill(new, toy_encoder, "A blue lake.")
        engine.open().close()
        assert not found.exists()
        return found

    monkeypatch.setattr(layout, "current", replaced)
    with engine.open(writable=False) as reader:
        assert texts(reader) == ["A blue lake."]
        with engine.rebuild() as new:
            fill(new, toy_encoder, "A green lake.")
        monkeypatch.setattr(layout, "current", replaced)  # the version that is opened next is replaced in its turn
        assert texts(reader) == ["A blue lake."]


def test_a_writer_whose_index_was_deleted_acknowledges_nothing(tmp_path: Path, toy_encoder: Encoder) -> None:
    with open_local(tmp_path / "index", "toy-1", writable=True) as writer:
        fill(writer, toy_encoder, "A red sea.")
        shutil.rmtree(tmp_path / "index")
        with pytest.raises(IndexNotFound, match="run the same command again"):
            fill(writer, toy_encoder, "A blue lake.")
        with pytest.raises(IndexNotFound):
            texts(writer)
    assert not (tmp_path / "index" / "CURRENT").exists()
    assert not list(tmp_path.rglob("*.npy"))


def test_a_view_searches_to_its_end_when_its_segments_are_merged_away(
    tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "PLAIN_BELOW", 16)  # so that there is a FAISS file, opened at the first search
    location = tmp_path / "index"
    with open_local(location, "toy-1", writable=True) as writer:
        fill(writer, toy_encoder, *(f"Lake number {number}." for number in range(40)))
    with open_local(location, "toy-1") as reader:
        vector = reader.fetch(["doc-7/0"])[0].block
        query = (vector.passage_vector * vector.passage_scale)[None].astype("float32")
        with reader.view() as held:
            with open_local(location, "toy-1", writable=True) as writer:
                writer.delete([f"doc-{number}" for number in range(40) if number % 4])  # most: it is written again
            found = held.dense_search(query, 40, {})[0].hits
            assert len(found) == 40
            assert held.fetch([found[0].passage_id]).passages
            assert not held.state.segments[0].dense._file.exists()
        assert len(reader.dense_search(query, 40, {})[0]) == 10


def test_files_that_a_writer_replaces_are_no_trouble_of_the_disk(
    tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens a state may find its files replaced by the next one, at any of them: then that is opened."""
    location, check_sizes = tmp_path / "index", page_sums.check_sizes

    def replaced(folder: Path, files: Any) -> None:
        monkeypatch.setattr(page_sums, "check_sizes", check_sizes)
        check_sizes(folder, files)
        with open_local(location, "toy-1", writable=True) as writer:
            writer.delete([f"doc-{number}" for number in range(7)])  # most: it is written again
        assert not folder.exists()

    def found(reader: Store) -> object:
        return [hit.passage_id for hit in reader.sparse_search({"lex": {"lake": 1.0}}, 9, {})]

    for look, right in ((found, ["doc-7/0"]), (lambda reader: reader.verify().problems, ())):
        with open_local(location, "toy-1", writable=True) as writer:
            fill(writer, toy_encoder, *(f"Lake number {number}." for number in range(8)))
            writer.compact()
        with open_local(location, "toy-1") as reader:
            monkeypatch.setattr(page_sums, "check_sizes", replaced)
            assert look(reader) == right


def test_a_reader_that_may_not_write_sees_what_others_write(
    tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = tmp_path / "index"
    with open_local(location, "toy-1", writable=True) as writer:
        fill(writer, toy_encoder, "A red sea.")
    with monkeypatch.context() as patch:
        patch.setattr(database, "os", ReadOnly())
        with open_local(location, "toy-1") as reader:
            assert texts(reader) == ["A red sea."]
            with open_local(location, "toy-1", writable=True) as writer:
                fill(writer, toy_encoder, "A blue lake.")
                assert texts(reader) == ["A blue lake."]
            fill_again = open_local(location, "toy-1", writable=True)
            fill(fill_again, toy_encoder, "A green lake.")
            fill_again.close()
            assert texts(reader) == ["A green lake."]


class ReadOnly:
    """The module `os` of somebody who may write nowhere."""

    def access(self, *_: object, **__: object) -> bool:
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)
