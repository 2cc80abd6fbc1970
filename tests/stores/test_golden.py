"""An index that an earlier version wrote opens, is whole, and answers as it did; the format before is upgraded."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterable
from pathlib import Path

import golden
import pytest
from engines import open_local
from random_blocks import same_block

from sparc_search.encoder import Encoder
from sparc_search.engine import Place
from sparc_search.errors import IndexMismatch
from sparc_search.search.ranking import ranked
from sparc_search.stores.local.database import FILE, FORMAT
from sparc_search.stores.local.engine import LocalEngine
from sparc_search.stores.older_block import decode_older
from sparc_search.stores.phrase_block import decode, encode
from sparc_search.stores.stored_blocks import blocks_of


def unpacked(number: int, folder: Path) -> list[list[list[object]]]:
    """The golden index of a format, in a folder; the answers it gave."""
    with zipfile.ZipFile(golden.ARCHIVES[number]) as archive:
        archive.extractall(folder)
    answers = folder / "answers.json"
    right: list[list[list[object]]] = json.loads(answers.read_text())
    answers.unlink()
    assert len(right) == len(golden.QUESTIONS)
    return right


def same(found: Iterable[list[list[object]]], right: Iterable[list[list[object]]]) -> bool:
    for answers, wanted in zip(found, right, strict=True):
        assert [answer[:2] for answer in answers] == [answer[:2] for answer in wanted]
        assert [answer[2] for answer in answers] == pytest.approx([answer[2] for answer in wanted], rel=1e-12)
    return True


def test_it_answers_as_it_did(tmp_path: Path, toy_encoder: Encoder) -> None:
    right = unpacked(FORMAT, tmp_path / "index")
    assert same(golden.answers(tmp_path / "index", toy_encoder), right)


def test_it_is_whole_and_can_be_written_to(tmp_path: Path, toy_encoder: Encoder) -> None:
    unpacked(FORMAT, tmp_path / "index")
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        assert store.verify().problems == ()
        assert store.delete(["alps"]) == 1
        assert store.content_hashes(["alps", "seas", "d0-003"]).keys() == {"seas"}


def rows(database: Path, columns: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(database)
    try:
        return connection.execute(f"SELECT {columns}").fetchall()
    finally:
        connection.close()


def stored_blocks(database: Path) -> list[bytes]:
    return [bytes(block) for (block,) in rows(database, "block FROM encoded ORDER BY passage")]  # type: ignore[arg-type]


def test_the_format_before_is_copied_row_by_row(tmp_path: Path, toy_encoder: Encoder) -> None:
    index = tmp_path / "index"
    right = unpacked(2, index)
    kept = "passage, features FROM encoded ORDER BY passage"
    text = "row, id, document, number, start, page, title, source, metadata, text, words, generation FROM passages"
    before = [rows(index / "data-1" / FILE, columns) for columns in (kept, text)]
    blocks = [decode_older(data) for data in stored_blocks(index / "data-1" / FILE)]
    with pytest.raises(IndexMismatch, match="index upgrade"):
        golden.answers(index, toy_encoder)
    assert LocalEngine.upgrade(Place(index))
    assert [rows(index / "data-2" / FILE, columns) for columns in (kept, text)] == before
    anew = [decode(data) for data in stored_blocks(index / "data-2" / FILE)]
    assert all(same_block(*pair) for pair in zip(anew, blocks, strict=True))
    assert not (index / "data-1").exists()
    assert same(golden.answers(index, toy_encoder), right)
    assert not LocalEngine.upgrade(Place(index))
    with open_local(index, toy_encoder.fingerprint, writable=True) as store:
        assert store.verify().problems == ()
        assert store.describe()["arithmetic"] == ["unknown (format 2)"]
        assert store.delete(["alps"]) == 1
        assert store.verify().problems == ()


def test_older_blocks_are_read_wherever_they_still_are(tmp_path: Path, toy_encoder: Encoder) -> None:
    """On a server and in exports."""
    unpacked(2, tmp_path)
    older = stored_blocks(tmp_path / "data-1" / FILE)
    anew = [encode(decode(data)) for data in older]
    mixed = [data if number % 2 else other for number, (data, other) in enumerate(zip(older, anew, strict=True))]
    (question,) = toy_encoder.encode_questions([golden.QUESTIONS[0]])
    found = [list(ranked(question, (), blocks_of(data), 5)) for data in (anew, older, mixed)]
    assert found[0]
    assert [[span[:4] for span in spans] for spans in found[1:]] == 2 * [[span[:4] for span in found[0]]]


@pytest.mark.parametrize("damage", ["UPDATE encoded SET block = x'00'", "UPDATE documents SET text = x'00'"])
def test_damage_is_not_copied_as_if_it_were_sound(tmp_path: Path, damage: str) -> None:
    unpacked(2, tmp_path / "index")
    connection = sqlite3.connect(tmp_path / "index" / "data-1" / FILE)
    connection.execute(damage)
    connection.commit()
    connection.close()
    assert not LocalEngine.upgrade(Place(tmp_path / "index"))
    assert (tmp_path / "index" / "CURRENT").read_text() == "data-1\n"
