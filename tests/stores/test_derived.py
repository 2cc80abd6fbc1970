"""Vectors that are derived on this machine are complete, or they are not kept; and replies say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from engines import Store, open_local
from plain_engine import ViewWithVectors, WithVectors
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.stored import Hits
from sparc_search.stores import derived
from sparc_search.stores.dense import FaissStore
from sparc_search.stores.derived import DerivedVectors

ANYWHERE = np.ones((2, 4), np.float32)
ALL = {"alps/0", "alps/1", "seas/0"}


@pytest.fixture
def store(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Store]:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


@pytest.fixture(autouse=True)
def nothing_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ViewWithVectors, "lost", set())
    monkeypatch.setattr(ViewWithVectors, "asked", [])
    monkeypatch.setattr(derived, "_PAUSES", (0.0,))


@pytest.fixture
def vectors(tmp_path: Path, store: Store) -> Iterator[DerivedVectors]:
    made = DerivedVectors(WithVectors(store), tmp_path / "other")
    yield made
    made.close()


def search(vectors: DerivedVectors, where: dict[str, str] | None = None) -> list[Hits]:
    with vectors._engine.view() as view:
        return vectors.search(view, ANYWHERE, 10, where or {})


def ids(found: Hits) -> set[str]:
    return {hit.passage_id for hit in found.hits}


def manifests(folder: Path) -> list[Path]:
    return sorted(folder.glob("other.vectors/index/*/manifest.json"))


def test_they_are_read_once_and_then_followed(
    tmp_path: Path, store: Store, vectors: DerivedVectors, toy_encoder: Encoder
) -> None:
    assert [ids(found) for found in search(vectors)] == [ALL, ALL]
    search(vectors)
    assert ViewWithVectors.asked == [0]
    store.add(encode_all([plain("new", "More.")], toy_encoder))
    assert ids(search(vectors)[0]) == {*ALL, "new/0"}
    assert len(ViewWithVectors.asked) == 2
    assert ViewWithVectors.asked[1] > 0
    assert ids(search(vectors, {"kind": "water"})[1]) == {"seas/0"}
    vectors.close()
    again = DerivedVectors(WithVectors(store), tmp_path / "other")
    assert ids(search(again)[0]) == {*ALL, "new/0"}
    assert ViewWithVectors.asked[2] > 0  # what was written down is not read again
    again.close()


@pytest.mark.parametrize("lost", [{"alps/1"}, None])
def test_with_a_hole_nothing_is_kept_and_every_query_hears_of_it(
    tmp_path: Path, vectors: DerivedVectors, monkeypatch: pytest.MonkeyPatch, lost: set[str] | None
) -> None:
    monkeypatch.setattr(ViewWithVectors, "lost", lost)
    for _ in range(2):
        found = search(vectors)
        assert [len(own.missing) for own in found] == [1, 1]
        assert "vector" in found[0].missing[0]
        assert ids(found[0]) == (set() if lost is None else {"alps/0", "seas/0"})
    assert manifests(tmp_path) == []
    monkeypatch.setattr(ViewWithVectors, "lost", set())
    monkeypatch.setattr(derived, "_BEGIN_ANEW_AFTER", 0.0)
    assert [(ids(own), own.missing) for own in search(vectors)] == [(ALL, ()), (ALL, ())]
    assert manifests(tmp_path)
    assert vectors.verify() == []


def test_a_hole_that_was_kept_is_found_and_filled(tmp_path: Path, store: Store, vectors: DerivedVectors) -> None:
    with store.view() as view:
        folder = tmp_path / "other.vectors" / "index" / view.identity
        kept = FaissStore.open(folder, view.identity, writable=True)
        for change in view.vector_changes(0):
            kept.apply(change)
            kept.apply(type(change)(change.generation, (), change.vectors[:0], removed=("alps/1",)))
        kept.write()
    (problem,) = vectors.verify()
    assert "1 passages have none or another, such as 'alps/1'" in problem.what
    assert [(ids(own), own.missing) for own in search(vectors)] == [(ALL, ()), (ALL, ())]
    assert vectors.verify() == []


def test_vectors_that_are_others_are_found_and_made_again(
    tmp_path: Path, store: Store, vectors: DerivedVectors
) -> None:
    search(vectors)
    (path,) = tmp_path.glob("other.vectors/index/*/v*/vectors.npy")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert len(vectors.verify()) == 1
    vectors.repair()
    assert vectors.verify() == []
    assert ids(search(vectors)[0]) == ALL


def test_two_processes_share_a_folder(tmp_path: Path, store: Store, vectors: DerivedVectors) -> None:
    search(vectors)
    other = DerivedVectors(WithVectors(store), tmp_path / "other")
    assert ids(search(other)[0]) == ALL
    other.close()
