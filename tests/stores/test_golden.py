"""An index that an earlier version wrote opens, is whole, and answers as it did."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import golden
import pytest
from engines import open_local

from sparc_search.encoder import Encoder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    with zipfile.ZipFile(golden.ARCHIVE) as archive:
        archive.extractall(tmp_path / "index")
    return tmp_path / "index"


def test_it_answers_as_it_did(index: Path, toy_encoder: Encoder) -> None:
    expected = json.loads((index / "answers.json").read_text())
    assert len(expected) == len(golden.QUESTIONS)
    for found, right in zip(golden.answers(index, toy_encoder), expected, strict=True):
        assert [answer[:2] for answer in found] == [answer[:2] for answer in right]
        assert [answer[2] for answer in found] == pytest.approx([answer[2] for answer in right], rel=1e-12)


def test_it_is_whole_and_can_be_written_to(index: Path, toy_encoder: Encoder) -> None:
    (index / "answers.json").unlink()
    with open_local(index, toy_encoder.fingerprint, writable=True) as store:
        assert store.verify().problems == ()
        assert store.delete(["alps"]) == 1
        assert store.content_hashes(["alps", "seas", "d0-003"]).keys() == {"seas"}
