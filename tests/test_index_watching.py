"""Following folders: real files, real notices of the system; every wait is for something that must come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.errors import NotThere, ReaderError, SparcSearchError, UsageError
from sparc_search.loaders.outcomes import Summary
from sparc_search.loaders.watching import within
from sparc_search.settings import Settings

pytestmark = pytest.mark.timeout(120)
TEXT = "A note about the {}, as it stands in the red book."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    put(folder / "eiger.txt")
    return folder


@pytest.fixture
def index(notes: Path, toy_encoder: Encoder) -> Iterator[Index]:
    """In the folder that is followed, where its own files must not wake anybody."""
    with Index.create(notes / "index", settings=Settings(), encoder=toy_encoder) as index:
        yield index


def put(path: Path, content: bytes = b"") -> None:
    """A file that is there all at once."""
    made = path.parent.parent / f"{path.name}.made"
    made.write_bytes(content or TEXT.format(path.stem).encode())
    made.rename(path)


def until(batches: Iterator[Summary], index: Index, *ids: str) -> list[Summary]:
    """The batches until the index has just these documents: one change may come in several."""
    found = []
    while sorted(document.id for document in index.documents()) != sorted(ids):
        found.append(next(batches))
    return found


def test_an_index_follows_a_folder(index: Index, notes: Path) -> None:
    stop = threading.Event()
    batches = index.watch(notes, stop=stop)
    assert next(batches).indexed == 1
    put(notes / ".hidden.txt")
    put(notes / "deep" / "rhine.md")
    (told,) = until(batches, index, "notes/eiger.txt", "notes/deep/rhine.md")
    assert (told.read, told.indexed) == (1, 1)
    put(notes / "eiger.txt", b"Another note.")
    assert next(batches).indexed == 1
    assert index.document("notes/eiger.txt").text == "Another note."
    (notes / "eiger.txt").rename(notes / "ogre.txt")
    until(batches, index, "notes/ogre.txt", "notes/deep/rhine.md")
    (notes / "deep" / "rhine.md").unlink()
    until(batches, index, "notes/ogre.txt")
    stop.set()
    assert list(batches) == []


def test_a_file_that_cannot_be_read_is_read_again_when_it_changes(index: Index, notes: Path) -> None:
    batches = index.watch(notes)
    next(batches)
    put(notes / "rhine.txt", b"\0\1\2")
    assert next(batches).rejected == 1
    put(notes / "rhine.txt")
    until(batches, index, "notes/eiger.txt", "notes/rhine.txt")
    put(notes / "eiger.txt", b"\0\1\2")
    assert next(batches).rejected == 1
    assert index.document("notes/eiger.txt").text == TEXT.format("eiger")


def test_an_error_of_a_batch_is_told_and_the_next_change_makes_up_for_it(tmp_path: Path, toy_encoder: Encoder) -> None:
    folder = tmp_path / "in" / "box"
    folder.mkdir(parents=True)
    errors: list[SparcSearchError] = []

    def mend(error: SparcSearchError) -> None:
        errors.append(error)
        put(folder / "rhine.txt")

    with Index.create(tmp_path / "index", settings=Settings(), encoder=toy_encoder) as index:
        batches = index.watch(folder, on_error=mend)
        assert next(batches).indexed == 1
        assert [type(error) for error in errors] == [ReaderError]
        batches.close()
        with pytest.raises(ReaderError, match="no file or folder"):
            next(index.watch(tmp_path / "nowhere"))
        with pytest.raises(UsageError, match="standard input"):
            next(index.watch("-"))
        with pytest.raises(NotThere):
            index.document("box/nothing.txt")


def test_options_and_ignored_files_count(index: Index, notes: Path) -> None:
    batches = index.watch(notes, corpus="mine", exclude=["*.md"])
    next(batches)
    put(notes / "bern.md")
    put(notes / "rhine.txt")
    until(batches, index, "mine/notes/eiger.txt", "mine/notes/rhine.txt")


def test_what_is_within_what_was_touched(tmp_path: Path) -> None:
    folder = str(tmp_path.resolve())
    touched = frozenset([f"{folder}/a", f"{folder}/b.txt"])
    assert within(f"{folder}/a/deep/c.txt", touched)
    assert within(f"{folder}/b.txt", touched)
    assert not within(f"{folder}/ab.txt", touched)
    (tmp_path / "link").symlink_to(folder)
    assert within(f"{folder}/link/b.txt", touched)
