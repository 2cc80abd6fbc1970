"""Parts of a corpus for many machines: together they are the whole, and each is the same wherever it is made."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search import Index
from sparc_search.encoder import Encoder
from sparc_search.errors import IndexMismatch, UsageError
from sparc_search.loaders.outcomes import Event, IngestProgress
from sparc_search.loaders.parts import Part
from sparc_search.settings import Settings

EIGER = "The Eiger was first climbed in 1858 by Charles Barrington."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"{EIGER} Note {number}.")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8")
    return folder


@given(st.text(), st.integers(1, 40))
def test_every_document_is_in_exactly_one_part(id: str, of: int) -> None:
    assert sum(Part(number, of).holds(id) for number in range(1, of + 1)) == 1


def test_which_part_it_is_never_changes() -> None:
    assert [next(n for n in range(1, 17) if Part(n, 16).holds(id)) for id in ("a", "b", "notes/1.md")] == [16, 6, 12]


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/2/3"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no part"):
        Part.parsed(text)


def test_parts_together_are_the_index(corpus: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    settings, parts = Settings(), [tmp_path / f"part-{number}.sparc" for number in (1, 2, 3)]
    skipped = 0
    for number, part in enumerate(parts, 1):
        summary = Index.encode(corpus, out=part, part=f"{number}/3", settings=settings, encoder=toy_encoder)
        assert summary is not None
        assert 0 < summary.indexed < 12
        skipped += summary.skipped
    assert skipped == 1  # the photo, told by one of them
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", *(part.name for part in parts)]
    with Index.create(tmp_path / "whole", settings=settings, encoder=toy_encoder) as whole:
        whole.ingest(corpus)
        whole.export(tmp_path / "whole.jsonl", encoded=True)
    with Index.create(tmp_path / "index", settings=settings, encoder=toy_encoder) as index:
        assert sum(index.import_(part).indexed for part in parts) == 12
        assert sum(index.import_(part).unchanged for part in parts) == 12
        index.export(tmp_path / "joined.jsonl", encoded=True)
    assert (tmp_path / "joined.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()


def test_a_part_that_was_stopped_goes_on(corpus: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    stop, out = threading.Event(), tmp_path / "part.sparc"

    def stop_soon(event: Event) -> None:
        if isinstance(event, IngestProgress) and event.read:
            stop.set()

    first = Index.encode(corpus, out=out, settings=Settings(), encoder=toy_encoder, on_event=stop_soon, stop=stop)
    assert first
    assert first.stopped
    assert not out.exists()
    second = Index.encode(corpus, out=out, settings=Settings(), encoder=toy_encoder)
    assert second
    assert (second.indexed + second.unchanged, second.unchanged) == (12, first.indexed)
    assert Index.encode(corpus, out=out, settings=Settings(), encoder=toy_encoder) is None


def test_a_part_of_another_model_is_refused(corpus: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    Index.encode(corpus, out=tmp_path / "part.sparc", settings=Settings(), encoder=toy_encoder)
    other = type(toy_encoder)("toy-2")  # type: ignore[call-arg]
    with (
        Index.create(tmp_path / "index", settings=Settings(), encoder=other) as index,
        pytest.raises(IndexMismatch),
    ):
        index.import_(tmp_path / "part.sparc")


def test_a_part_cannot_be_synced(corpus: Path, tmp_path: Path, toy_encoder: Encoder) -> None:
    with (
        Index.create(tmp_path / "index", settings=Settings(), encoder=toy_encoder) as index,
        pytest.raises(UsageError, match="all other parts"),
    ):
        index.ingest(corpus, sync=True, part="1/2")
