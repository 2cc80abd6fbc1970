from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.loaders.outcomes import Event, Outcome
from sparc_search.settings import Settings


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    for name in ("eiger", "rhine", "bern"):
        (folder / f"{name}.txt").write_text(f"A note about the {name}, as it stands in the red book.")
    return folder


@pytest.fixture
def index(notes: Path, tmp_path: Path, toy_encoder: Encoder) -> Iterator[Index]:
    with Index.create(tmp_path / "index", settings=Settings(), encoder=toy_encoder) as index:
        assert index.ingest(notes).indexed == 3
        yield index


def ids(index: Index) -> list[str]:
    return [document.id for document in index.documents()]


def test_a_renamed_file_is_not_answered_twice(index: Index, notes: Path) -> None:
    (notes / "eiger.txt").rename(notes / "deep" / "ogre.txt")
    outcomes: list[Event] = []
    assert index.ingest(notes, dry_run=True).renamed == 1
    summary = index.ingest(notes, on_event=outcomes.append)
    assert (summary.indexed, summary.renamed, summary.deleted, summary.gone) == (1, 1, 0, 0)
    assert ids(index) == ["notes/bern.txt", "notes/deep/ogre.txt", "notes/rhine.txt"]
    told = [event for event in outcomes if isinstance(event, Outcome) and event.kind == "renamed"]
    assert [(event.document_id, event.reason) for event in told] == [("notes/eiger.txt", "now notes/deep/ogre.txt")]


def test_a_renamed_file_that_is_named_itself(index: Index, notes: Path) -> None:
    (notes / "eiger.txt").rename(notes / "ogre.txt")
    (notes / "rhine.txt").unlink()
    assert index.ingest(notes / "ogre.txt").renamed == 1
    assert ids(index) == ["notes/bern.txt", "notes/rhine.txt", "ogre.txt"]


def test_a_copy_is_not_a_renamed_file(index: Index, notes: Path) -> None:
    (notes / "ogre.txt").write_text((notes / "eiger.txt").read_text())
    assert index.ingest(notes).renamed == 0
    assert len(ids(index)) == 4
    (found,) = (hit for hit in index.search("a note about the eiger", unit="document").answers if "eiger" in hit.text)
    assert {found.passage.document_id, *(place.passage.document_id for place in found.others)} == {
        "notes/eiger.txt",
        "notes/ogre.txt",
    }


def test_files_that_are_gone_are_told_and_stay_without_sync(index: Index, notes: Path) -> None:
    (notes / "eiger.txt").unlink()
    (notes / "rhine.txt").unlink()
    (notes / "ogre.txt").write_text("Another note.")
    summary = index.ingest(notes)
    assert (summary.gone, summary.deleted, summary.renamed) == (2, 0, 0)
    assert len(ids(index)) == 4
    summary = index.ingest(notes, sync=True)
    assert (summary.gone, summary.deleted) == (0, 2)
