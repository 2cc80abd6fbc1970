"""`sparc-search index upgrade`: rows of the format before are copied; an older one, or another model's, is encoded."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import golden
import pytest

from sparc_search import Index
from sparc_search.cli.main import run
from sparc_search.errors import IndexMismatch
from sparc_search.stores.local import points
from sparc_search.stores.local.database import FORMAT

Out = pytest.CaptureFixture[str]
COMMAND = "sparc-search index upgrade --index index"
QUESTION = golden.QUESTIONS[0]


@pytest.fixture
def folder(tmp_path: Path, toy_plugin: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the golden index of today's format."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    monkeypatch.setenv("SPARC_SEARCH_INDEX", "index")
    unpack(FORMAT)
    return tmp_path


def unpack(number: int) -> None:
    shutil.rmtree("index", ignore_errors=True)
    with zipfile.ZipFile(golden.ARCHIVES[number]) as archive:
        archive.extractall("index")
    Path("index/answers.json").unlink()


@pytest.fixture
def older(folder: Path) -> Path:
    """An index of an older format and another model; its blocks can no longer be read."""
    unpack(2)
    connection = sqlite3.connect(folder / "index" / "data-1" / "index.db")
    connection.execute("UPDATE meta SET value = 'model-of-1999' WHERE key = 'encoder'")
    connection.execute("UPDATE encoded SET block = x'00', features = x'00'")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    return folder


def out(capsys: Out) -> Any:
    return json.loads(capsys.readouterr().out)


def ask() -> list[str]:
    with Index.open("index") as index:
        return [answer.text for answer in index.ask(QUESTION).answers]


def test_an_older_index_is_upgraded_from_its_texts(older: Path, capsys: Out) -> None:
    assert run(["index", "upgrade", "--json"]) == 0
    assert out(capsys) == {"documents": 13, "passages": 14, "unchanged": 0}
    assert "Barrington" in ask()
    assert run(["index", "verify"]) == 0
    assert run(["index", "stats", "--json"]) == 0
    capsys.readouterr()
    assert run(["index", "upgrade"]) == 0
    assert "nothing to do" in capsys.readouterr().out


@pytest.fixture
def before(folder: Path) -> Path:
    """An index of the format before."""
    unpack(2)
    return folder


def test_rows_of_the_format_before_are_copied_and_nothing_is_encoded(
    before: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["ask", QUESTION]) == 1
    assert COMMAND in capsys.readouterr().err
    module = __import__("sparc_search_toy_encoder")
    with monkeypatch.context() as patch:
        patch.setattr(module.ToyEncoder, "encode_passages", None)
        assert run(["index", "upgrade", "--json"]) == 0
    assert out(capsys) == {"documents": 0, "passages": 14, "unchanged": 13}
    assert "Barrington" in ask()
    assert run(["index", "verify"]) == 0


def test_what_cannot_be_copied_is_encoded(before: Path, capsys: Out) -> None:
    connection = sqlite3.connect("index/data-1/index.db")
    connection.execute("UPDATE encoded SET block = x'00' WHERE passage = 1")
    connection.commit()
    connection.close()
    assert run(["index", "upgrade", "--json"]) == 0
    assert out(capsys) == {"documents": 13, "passages": 14, "unchanged": 0}
    assert run(["index", "verify"]) == 0


@pytest.mark.parametrize("point", ["rebuilt beside", "switched"])
def test_a_copy_that_is_stopped_is_begun_anew(
    before: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def stop(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(points, "reached", stop)
        assert run(["index", "upgrade"]) == 130
    assert run(["ask", QUESTION]) == (0 if point == "switched" else 1)
    assert run(["index", "upgrade"]) == 0
    assert "Barrington" in ask()
    assert run(["index", "verify"]) == 0


def test_an_older_index_is_listed_and_exported(older: Path, capsys: Out) -> None:
    assert run(["index", "stats", "--json"]) == 0
    facts = out(capsys)
    assert (facts["documents"], facts["format"], facts["encoder"]) == (13, 1, "model-of-1999")
    with Index.open() as index:
        assert len(list(index.documents())) == 13
        assert index.document("alps").title == "Alps"
    assert run(["index", "export", "-o", "texts.jsonl"]) == 0
    assert run(["index", "import", "texts.jsonl", "--index", "copy", "--json"]) == 0
    assert out(capsys)["documents"] == 13
    assert run(["index", "export", "-o", "blocks.jsonl", "--encoded"]) == 1
    assert COMMAND in capsys.readouterr().err
    assert not Path("blocks.jsonl").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["ask", QUESTION],
        ["ask", "--file", "questions.txt"],
        ["inspect", "question", QUESTION],
        ["ingest", "questions.txt"],
        ["index", "delete", "alps"],
        ["index", "compact"],
        ["index", "verify", "--repair"],
    ],
)
def test_everything_else_names_the_one_command(older: Path, capsys: Out, command: list[str]) -> None:
    Path("questions.txt").write_text(QUESTION)
    assert run(command) == 1
    message = capsys.readouterr().err
    assert COMMAND in message
    assert "delete the folder" not in message


def test_the_same_from_python(older: Path) -> None:
    with Index.open("index") as index:
        with pytest.raises(IndexMismatch, match=COMMAND):
            index.ask(QUESTION)
        with pytest.raises(IndexMismatch, match=COMMAND):
            index.add("A text.")
        report = index.upgrade()
        assert report is not None
        assert (report.indexed, report.rejected) == (13, 0)
        assert index.upgrade() is None
        assert index.ask(QUESTION).best is not None


@pytest.mark.parametrize("point", ["documents committed", "rebuilt beside", "switched"])
def test_an_upgrade_that_is_stopped_goes_on(
    older: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def stop(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(points, "reached", stop)
        assert run(["index", "upgrade"]) == 130
    assert run(["ask", QUESTION]) == (0 if point == "switched" else 1)
    capsys.readouterr()
    assert run(["index", "upgrade", "--json"]) == 0
    assert out(capsys)["unchanged"] == (0 if point == "switched" else 13)
    assert ask()
    assert run(["index", "verify"]) == 0


def test_what_was_deleted_after_an_attempt_that_was_stopped_does_not_come_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    module = __import__("sparc_search_toy_encoder")
    made = module.ToyEncoder.__init__
    monkeypatch.setattr(module.ToyEncoder, "__init__", lambda self: made(self, "toy-2"))

    def stop(name: str) -> None:
        if name == "rebuilt beside":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(points, "reached", stop)
        assert run(["index", "reencode"]) == 130
    assert run(["index", "delete", "alps"]) == 0
    assert run(["index", "upgrade"]) == 0
    with Index.open() as index:
        assert "alps" not in {document.id for document in index.documents()}
        assert index.stats()["documents"] == 12


def test_a_newer_index_is_left_alone(folder: Path, capsys: Out) -> None:
    connection = sqlite3.connect(folder / "index" / "data-1" / "index.db")
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    for command in (["ask", QUESTION], ["index", "stats"], ["index", "upgrade"]):
        assert run(command) == 1
        assert "a newer version of sparc-search" in capsys.readouterr().err


def test_there_is_no_index_to_upgrade(folder: Path, capsys: Out) -> None:
    assert run(["index", "upgrade", "--index", "nowhere"]) == 1
    assert "no index at nowhere" in capsys.readouterr().err
