"""The examples in the docstrings of `Index` and on the page of the library run, with the model in the box."""

from __future__ import annotations

import doctest
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparc_search import Index, index
from sparc_search.encoder import Encoder
from sparc_search.settings import Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python.md"
RUNNER = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
NOTES = [
    {"id": "eiger", "title": "Eiger", "text": "The Eiger was first climbed in 1858.", "metadata": {"height": 3967}},
    {"id": "baltic", "title": "Baltic Sea", "text": "The Baltic Sea has a mean depth of 55 metres."},
]
EXAMPLES = [found for found in doctest.DocTestFinder().find(index) if found.examples]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """The model in the box, loaded once."""
    return index.open_encoder(Settings())


@pytest.fixture(scope="module")
def notes(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes") / "notes"
    with Index.create(folder, settings=Settings(), encoder=encoder) as made:
        made.add(NOTES)
    return folder


@pytest.fixture
def prepared(
    notes: Path, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, object]]:
    """A folder to work in with the two notes, and the names that an example may use."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(index, "open_encoder", lambda settings: encoder)  # once is enough for all examples
    shutil.copytree(notes, "notes")
    with Index.open("notes") as opened:
        yield {"Index": Index, "Path": Path, "index": opened}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example: doctest.DocTest, prepared: dict[str, object]) -> None:
    example.globs = {**prepared}
    assert RUNNER.run(example, clear_globs=False).failed == 0


def test_the_page_of_the_library(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(index, "open_encoder", lambda settings: encoder)
    page = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
    assert len(page.examples) > 20
    assert RUNNER.run(page).failed == 0


def test_every_method_has_an_example() -> None:
    methods = {f"sparc_search.index.Index.{name}" for name in vars(Index) if not name.startswith("_")}
    shown = {example.name for example in EXAMPLES}
    attributes = {
        f"sparc_search.index.Index.{name}" for name in ("encoder", "engine", "rereader", "follow", "following", "close")
    }
    assert methods - shown == attributes
