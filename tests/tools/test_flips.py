"""A small part of the campaign of flipped bits; and its oracle notices what it should."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sparc_search import Index
from sparc_search.stores.page_sums import Pages
from tools.chaos.flips import Flips, build, flipped
from tools.chaos.tally import Tally


@pytest.fixture
def flips(tmp_path: Path, toy_plugin: Path, monkeypatch: pytest.MonkeyPatch) -> Flips:
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    build(tmp_path / "index", lines=0)
    with Index.open(tmp_path / "index") as index:
        return Flips(tmp_path / "index", index.encoder, Tally("flips"), random.Random(20))


def test_no_flipped_bit_changes_an_answer_in_silence(flips: Flips) -> None:
    for _ in range(40):
        flips.round()
    flips.all_is_well()
    assert flips.tally.contradictions == []
    assert {outcome for _, outcome in flips.tally.counts} >= {"refused", "same"}


def test_another_answer_is_noticed(flips: Flips, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pages, "_check", lambda pages, page: None)
    path = next(flips.place.rglob("posting_packed.npy"))
    size, place = path.stat().st_size, 0
    while not flips.tally.contradictions and place < 40:
        place += 2
        with flipped(path, size - place, 6):
            flips.round()
    assert flips.tally.contradictions


def test_a_bit_is_flipped_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with flipped(path, 1, 0):
        assert path.read_bytes() == b"acc"
    assert path.read_bytes() == b"abc"
