from __future__ import annotations

import gzip
import io
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from engines import open_local
from rich.console import Console
from small_corpus import DOCUMENTS, encode_all

from sparc_search.cli.main import run
from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.stores.local import points

Out = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, whose index holds the small corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    monkeypatch.setenv("SPARC_SEARCH_INDEX", "index")
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    return tmp_path


def answers(index: str = "index") -> list[tuple[str, float]]:
    with Index.open(index) as opened:
        return [(answer.text, answer.score) for answer in opened.ask("When was the Eiger climbed?").answers]


def json_of(capsys: Out) -> Any:
    return json.loads(capsys.readouterr().out)


# --- stats -----------------------------------------------------------------------------------------------------------


def test_stats(folder: Path, capsys: Out) -> None:
    assert run(["index", "stats", "--json"]) == 0
    facts = json_of(capsys)
    assert (facts["documents"], facts["passages"], facts["encoder"]) == (2, 3, "toy-1")
    assert facts["words"] == sum(len(document.text.split()) for document in DOCUMENTS)
    assert facts["segments"] == [3]
    assert facts["bytes"]["of that blocks"] > 0
    assert run(["index", "stats"]) == 0
    shown = capsys.readouterr().out
    assert "passages" in shown
    assert "bytes per word: everything" in shown
    assert any(line.split(maxsplit=1) == ["segments", "1 (passages: 3)"] for line in shown.splitlines())


def test_stats_break_no_number_in_a_narrow_terminal(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparc_search.cli.index.stdout", lambda: Console(width=30))
    assert run(["index", "stats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("documents") + 1] == "  2"


def test_an_empty_index_has_stats_too(folder: Path, capsys: Out) -> None:
    assert run(["index", "delete", "alps", "seas"]) == 0
    capsys.readouterr()
    assert run(["index", "stats", "--json"]) == 0
    facts = json_of(capsys)
    assert (facts["documents"], facts["passages"], facts["words"]) == (0, 0, 0)


@pytest.mark.parametrize("command", [["stats"], ["verify"], ["compact"], ["delete", "x"], ["export"]])
def test_there_is_no_index(folder: Path, capsys: Out, command: list[str]) -> None:
    assert run(["index", *command, "--index", "nowhere"]) == 1
    assert "no index at nowhere" in capsys.readouterr().err
    assert command in (["compact"], ["delete", "x"]) or not (folder / "nowhere").exists()


# --- verify ----------------------------------------------------------------------------------------------------------


def test_all_is_well(folder: Path, capsys: Out) -> None:
    assert run(["index", "verify"]) == 0
    assert "all is well: 2 documents, 3 passages, 1 segment, " in capsys.readouterr().out
    assert run(["index", "verify", "--json", "--sample", "0"]) == 0
    assert json_of(capsys)["ok"] is True


def segment_files(folder: Path) -> list[Path]:
    return sorted((folder / "index" / "data-1" / "segments").glob("*/*.npy"))


@pytest.mark.parametrize("number", range(13))
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_file_is_found_and_made_again(folder: Path, capsys: Out, number: int, damage: str) -> None:
    expected = answers()
    path = segment_files(folder)[number]
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage == "flip":
        data[-1] ^= 16
    if damage != "remove":
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    assert run(["index", "verify", "--json"]) == 1
    report = json_of(capsys)
    assert [problem["repairable"] for problem in report["problems"]] == [True]
    assert path.name in report["problems"][0]["what"]
    assert run(["index", "verify", "--repair", "--json"]) == 0
    report = json_of(capsys)
    assert report["ok"] is True
    assert len(report["repaired"]) == 1
    assert answers() == expected


def test_there_are_thirteen_files(folder: Path) -> None:
    assert len(segment_files(folder)) == 13


def in_database(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "index" / "data-1" / "index.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "UPDATE encoded SET block = zeroblob(200) WHERE passage = 1",
            "alps/0: what is encoded of passage 'alps/0' has changed bytes",
        ),
        ("UPDATE encoded SET features = x'00'", "alps/0: what is encoded of passage 'alps/0' has changed bytes"),
        ("DELETE FROM encoded WHERE passage = 2", "alps/1: has no phrase block"),
        ("UPDATE meta SET value = 7 WHERE key = 'passages'", "the table of facts about the index"),
        ("UPDATE frequencies SET passages = 9 WHERE name = 'the'", "counts 1 terms wrongly, such as 'the'"),
        ("UPDATE passages SET text = 'x'", "passage alps/0: has changed bytes in its row"),
        ("UPDATE documents SET title = 'x'", "document alps: has changed bytes in its row"),
        ("UPDATE documents SET text = x'00'", "document alps: has changed bytes in its row"),
        ("UPDATE tag_counts SET rows = 7", "has changed bytes in its row"),
        ("UPDATE batches SET arithmetic = 'x'", "has changed bytes in its row"),
        ("INSERT INTO tombstones VALUES (9)", "tombstones: are not those that were written"),
        ("UPDATE segments SET last = 2, passages = 2", "segments 00000001: has changed bytes"),
        ("UPDATE passages SET id = 'other' WHERE row = 1", "passage other: has changed bytes in its row"),
        ("PRAGMA foreign_keys = OFF", ""),
        ("UPDATE passages SET document = 77 WHERE row = 1", "points to nothing in documents"),
    ],
)
def test_a_changed_database_is_found(folder: Path, capsys: Out, statement: str, expected: str) -> None:
    in_database(folder, statement)
    assert run(["index", "verify", "--sample", "0"]) == (1 if expected else 0)
    assert expected in "".join(capsys.readouterr())


def test_damaged_pages_are_found(folder: Path, capsys: Out) -> None:
    path = folder / "index" / "data-1" / "index.db"
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 16] = bytes(16)
    path.write_bytes(data)
    assert run(["index", "verify", "--sample", "0"]) == 1
    out, err = capsys.readouterr()
    assert "database" in out + err


def test_a_model_that_encodes_otherwise_is_found(
    folder: Path, capsys: Out, toy_plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = __import__("sparc_search_toy_encoder")
    before = module.ToyEncoder.encode_passages

    def changed(self: Any, passages: Any) -> Any:
        return [type(one)(one.passage, _with_other_vectors(one.block), one.features) for one in before(self, passages)]

    monkeypatch.setattr(module.ToyEncoder, "encode_passages", changed)
    assert run(["index", "verify"]) == 1
    assert "encoded again, its start vectors are others" in capsys.readouterr().out


def _with_other_vectors(block: Any) -> Any:
    from dataclasses import replace

    return replace(block, start=replace(block.start, vectors=block.start.vectors + 3))


# --- backup, restore -------------------------------------------------------------------------------------------------


def test_a_backup_is_restored(folder: Path, capsys: Out) -> None:
    expected = answers()
    assert run(["index", "backup", "copy.tar.gz"]) == 0
    assert "copy.tar.gz: 2 documents, 3 passages" in capsys.readouterr().out
    assert run(["index", "backup", "copy.tar.gz"]) == 2
    assert "copy.tar.gz is there already" in capsys.readouterr().err
    assert run(["index", "restore", "copy.tar.gz", "--index", "other", "--json"]) == 0
    assert json_of(capsys)["documents"] == 2
    assert answers("other") == expected
    assert run(["index", "delete", "alps"]) == 0
    assert run(["index", "restore", "copy.tar.gz"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert run(["index", "restore", "copy.tar.gz", "--replace"]) == 0
    assert "2 documents, 3 passages" in capsys.readouterr().out
    assert answers() == expected


# --- compact, delete -------------------------------------------------------------------------------------------------


def test_delete(folder: Path, capsys: Out) -> None:
    assert run(["index", "delete", "alps", "nowhere", "--json"]) == 0
    assert json_of(capsys) == {"deleted": 1, "not there": 1, "purged": False}
    assert "1858" not in [text for text, _ in answers()]
    assert run(["index", "delete", "alps"]) == 1
    assert "0 deleted, 1 not there" in capsys.readouterr().out
    assert run(["index", "verify"]) == 0


def test_delete_reads_ids_from_a_pipe(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("alps\nseas\n"))
    assert run(["index", "delete", "-"]) == 0
    assert "2 deleted" in capsys.readouterr().out


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / "index").rglob("*") if path.is_file())


def test_purge_leaves_no_byte(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    secret = Document("s3cr3t-id", "Xyzzyplugh was born 1234567 in Quuxville.", "Frobnitz", "hush.txt", {"k": "Wibble"})
    with open_local(folder / "index", "toy-1", writable=True) as store:
        store.add(encode_all([secret], toy_encoder))
    words = [b"s3cr3t-id", b"Xyzzyplugh", b"xyzzyplugh", b"1234567", b"Frobnitz", b"hush.txt", b"Wibble"]
    assert all(word in everything(folder) for word in words)
    assert run(["index", "delete", "s3cr3t-id", "--purge"]) == 0
    left = everything(folder)
    assert [word for word in words if word in left] == []
    assert run(["index", "verify"]) == 0
    assert answers()[0][0] == "1858"


def test_compact(folder: Path, capsys: Out) -> None:
    expected = answers()
    run(["index", "delete", "seas"])
    capsys.readouterr()
    assert run(["index", "compact", "--json"]) == 0
    sizes = json_of(capsys)
    assert sizes["bytes after"] < sizes["bytes before"]
    assert answers()[0][0] == expected[0][0]
    assert run(["index", "compact"]) == 0
    assert "bytes before" in capsys.readouterr().out


# --- export, import, reencode ----------------------------------------------------------------------------------------


def test_an_export_can_be_read_by_others(folder: Path, capsys: Out) -> None:
    assert run(["index", "export"]) == 0
    header, *documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert header == {"format": "sparc-search-export", "version": 1, "encoder": "toy-1", "encoded": False}
    assert [document["id"] for document in documents] == ["alps", "seas"]
    assert documents[0]["text"] == DOCUMENTS[0].text
    first = documents[0]["passages"][0]
    assert first["features"]["lex"]["eiger"] == 1.0
    assert documents[0]["text"][first["start"] :].startswith(first["text"])
    assert "block" not in first


@pytest.mark.parametrize("name", ["copy.jsonl", "copy.jsonl.gz"])
@pytest.mark.parametrize("encoded", [True, False])
def test_what_is_exported_can_be_imported(folder: Path, capsys: Out, name: str, encoded: bool) -> None:
    more = ["--encoded"] if encoded else []
    assert run(["index", "export", "-o", name, *more]) == 0
    assert not (folder / f"{name}.part").exists()
    if encoded:  # needs no model at all
        assert run(["index", "import", name, "--index", "copy", "--encoder", "nonsense", "--json"]) == 0
    else:
        assert run(["index", "import", name, "--index", "copy", "--json"]) == 0
    assert json_of(capsys) == {"documents": 2, "passages": 3, "unchanged": 0}
    assert run(["index", "import", name, "--index", "copy", "--json"]) == 0
    assert json_of(capsys)["unchanged"] == 2
    assert run(["index", "verify", "--index", "copy"]) == 0
    if encoded:
        assert answers("copy") == answers()
    else:
        assert answers("copy")[0][0] == "1858"


def test_import_from_a_pipe(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    run(["index", "export", "--encoded"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(capsys.readouterr().out))
    assert run(["index", "import", "-", "--index", "copy"]) == 0
    assert "2 documents with 3 passages" in capsys.readouterr().out


def test_what_is_no_export_is_refused(folder: Path, capsys: Out) -> None:
    run(["index", "export", "-o", "good.jsonl", "--encoded"])
    lines = (folder / "good.jsonl").read_text().splitlines()
    bad = {
        "empty.jsonl": "",
        "other.jsonl": '{"id": 1}\n',
        "later.jsonl": lines[0].replace('"version": 1', '"version": 2'),
        "cut.jsonl": "\n".join([*lines[:2], lines[2][:500]]),
        "changed.jsonl": "\n".join([lines[0], lines[1].replace('"block": "U1BC', '"block": "U1BD')]),
    }
    for name, text in bad.items():
        (folder / name).write_text(text)
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    for name in [*bad, "cut.jsonl.gz", "nowhere.jsonl"]:
        assert run(["index", "import", name, "--index", f"from-{name}"]) in (1, 2), name
        assert "Error:" in capsys.readouterr().err
    assert run(["index", "import", "good.jsonl"]) == 0


def test_an_export_of_another_model_is_not_mixed_in(folder: Path, capsys: Out) -> None:
    run(["index", "export", "-o", "good.jsonl", "--encoded"])
    text = (folder / "good.jsonl").read_text().replace('"toy-1"', '"toy-9"')
    (folder / "good.jsonl").write_text(text)
    assert run(["index", "import", "good.jsonl"]) == 1
    assert "toy-9" in capsys.readouterr().err


@pytest.fixture
def newer_model(toy_plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("sparc_search_toy_encoder")
    made = module.ToyEncoder.__init__

    def initialise(self: Any, fingerprint: str = "toy-2", window: int = 64) -> None:
        made(self, fingerprint, window)

    monkeypatch.setattr(module.ToyEncoder, "__init__", initialise)


def test_reencode(folder: Path, capsys: Out, toy_encoder: Encoder, newer_model: None) -> None:
    with Index.open("index", encoder=toy_encoder) as old:
        before = old.ask("When was the Eiger climbed?").best
        assert run(["index", "reencode", "--json"]) == 0
        assert json_of(capsys) == {"documents": 2, "passages": 3, "unchanged": 0}
        assert old.ask("When was the Eiger climbed?").best == before  # the old one goes on serving
    assert answers()[0][0] == "1858"
    assert run(["index", "verify"]) == 0
    assert run(["index", "reencode"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert run(["index", "compact"]) == 0
    assert [path.name for path in (folder / "index").glob("data-*")] == ["data-2"]


@pytest.mark.parametrize("point", ["documents committed", "rebuilt beside", "switched"])
def test_a_reencoding_that_is_stopped_goes_on(
    folder: Path, capsys: Out, newer_model: None, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def stop(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(points, "reached", stop)
        assert run(["index", "reencode"]) == 130
    switched = point == "switched"
    assert run(["ask", "When was the Eiger climbed?"]) == (0 if switched else 1)
    capsys.readouterr()
    assert run(["index", "reencode", "--json"]) == 0
    assert json_of(capsys)["unchanged"] == (0 if switched else 2)
    assert answers()[0][0] == "1858"


def test_the_help_is_there(folder: Path, capsys: Out) -> None:
    assert run(["index", "--help"]) == 0
    shown = capsys.readouterr().out
    for command in ("stats", "verify", "compact", "delete", "export", "import", "reencode"):
        assert command in shown
