from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparc_search.errors import IndexDamaged
from sparc_search.stored import VectorChange
from sparc_search.stores import vector_index
from sparc_search.stores.dense import FaissStore
from sparc_search.stores.vector_index import VectorIndex, quantised, write_faiss


def unit_vectors(count: int, seed: int = 0, dimensions: int = 16) -> NDArray[np.float32]:
    """Vectors in clusters, as real ones are."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, dimensions))
    vectors = centres[rng.integers(0, 20, count)] + 0.5 * rng.normal(size=(count, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(params=["numpy", "flat", "ivf", "ivf for GPUs"])
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VectorIndex:
    """2,000 vectors, searched in each of the four ways."""
    import faiss

    monkeypatch.setattr(vector_index, "PLAIN_BELOW", 10_000 if request.param == "numpy" else 100)
    monkeypatch.setattr(vector_index, "FLAT_BELOW", 500 if request.param.startswith("ivf") else 10_000)
    vectors, scales = quantised(unit_vectors(2000))
    with monkeypatch.context() as patch:
        if request.param == "ivf for GPUs":  # written where there are some, searched where there are none
            patch.setattr(faiss, "get_num_gpus", lambda: 1)
        written = write_faiss(vectors, scales, tmp_path / "dense.faiss")
    assert written == (request.param != "numpy")
    return VectorIndex(vectors, scales, tmp_path / "dense.faiss" if written else None)


def exact(index: VectorIndex, query: NDArray[np.float32], mask: NDArray[np.bool_] | None = None) -> list[int]:
    scores = (index.vectors.astype(np.float64) @ query) * index.scales
    order = np.argsort(-scores, kind="stable")
    return [n for n in order.tolist() if mask is None or mask[n]]


def test_the_nearest_are_found(index: VectorIndex) -> None:
    queries = unit_vectors(20, seed=1)
    found = index.search(queries, 10, None)
    recall = []
    for query, (numbers, scores) in zip(queries, found, strict=True):
        first = numbers[np.argsort(-scores, kind="stable")][:10].tolist()
        recall.append(len(set(first) & set(exact(index, query)[:10])) / 10)
        assert scores == pytest.approx(
            (index.vectors[numbers].astype(np.float64) @ query) * index.scales[numbers], abs=1e-5
        )
    assert np.mean(recall) >= 0.97


def test_queries_together_find_what_they_find_alone(index: VectorIndex) -> None:
    queries = unit_vectors(7, seed=5)
    for query, (numbers, scores) in zip(queries, index.search(queries, 10, None), strict=True):
        ((alone, same),) = index.search(query[None], 10, None)
        assert np.array_equal(numbers, alone)
        assert np.array_equal(scores, same)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5])
def test_filters_come_before_the_cut(index: VectorIndex, share: float) -> None:
    mask = np.random.default_rng(2).random(2000) < share
    (query,) = unit_vectors(1, seed=3)
    ((numbers, scores),) = index.search(query[None], 10, mask)
    assert mask[numbers].all()
    first = numbers[np.argsort(-scores, kind="stable")][:10].tolist()
    assert len(set(first) & set(exact(index, query, mask)[:10])) >= 0.9 * min(10, mask.sum())


def test_more_wanted_than_there_is(index: VectorIndex) -> None:
    ((numbers, _),) = index.search(unit_vectors(1, seed=4), 5000, None)
    assert sorted(numbers.tolist()) == list(range(2000))


def test_how_many_lists_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import faiss

    monkeypatch.setattr(vector_index, "PLAIN_BELOW", 100)
    monkeypatch.setattr(vector_index, "FLAT_BELOW", 500)
    write_faiss(*quantised(unit_vectors(2000)), tmp_path / "x")
    opened = faiss.read_index(str(tmp_path / "x"))
    assert 1 < opened.nprobe <= opened.nlist


def test_a_damaged_faiss_file(index: VectorIndex) -> None:
    if index._file is None:
        return
    index._file.write_bytes(index._file.read_bytes()[:100])
    with pytest.raises(IndexDamaged, match="cannot be read"):
        index.search(unit_vectors(1), 10, None)


@given(st.integers(0, 2**32 - 1))
def test_int8_vectors_come_back_as_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stored = rng.integers(-127, 128, (5, 8)).astype(np.int8)
    stored[:, 0] = 127
    scales = rng.random(5).astype(np.float32) + np.float32(0.01)
    again, found = quantised(stored * scales[:, None])
    assert np.array_equal(again, stored)
    assert found == pytest.approx(scales)


def test_a_vector_of_nothing() -> None:
    vectors, scales = quantised(np.zeros((1, 4), np.float32))
    assert not vectors.any()
    assert scales.tolist() == [0.0]


# --- beside an engine ------------------------------------------------------------------------------------------------


def names(count: int) -> list[str]:
    return [f"p{number * 7919 % 10007:05d}" for number in range(count)]


def found_ids(store: FaissStore, query: NDArray[np.float32], k: int, allowed: list[str] | None = None) -> list[str]:
    return [hit.passage_id for hit in store.search(query[None], k, allowed)[0]]


def came(ids: Sequence[str], vectors: NDArray[np.float32], generation: int = 1) -> VectorChange:
    return VectorChange(generation, tuple(ids), vectors)


def opened(folder: Path, identity: str = "one") -> FaissStore:
    return FaissStore.open(folder, identity, writable=True)


def test_it_opens_as_it_was_saved_and_takes_over_what_is_new(tmp_path: Path) -> None:
    vectors, store = unit_vectors(60), opened(tmp_path)
    store.apply(came(names(50), vectors[:50]))
    store.save()
    store = opened(tmp_path)
    assert (store.generation, len(store)) == (1, 50)
    store.apply(came(names(60)[50:], vectors[50:], 2))
    assert (store.generation, len(store)) == (2, 60)
    order = np.argsort(-(vectors @ vectors[3]), kind="stable")
    assert found_ids(store, vectors[3], 5) == [names(60)[n] for n in order[:5]]


@pytest.mark.parametrize("how", ["cut", "flip manifest", "remove", "another identity"])
def test_what_does_not_check_out_is_not_opened(tmp_path: Path, how: str) -> None:
    store = opened(tmp_path)
    store.apply(came(names(30), unit_vectors(30)))
    store.write()
    path = next(tmp_path.glob("v*/vectors.npy"))
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif how == "remove":
        path.unlink()
    elif how == "flip manifest":
        (tmp_path / "manifest.json").write_text("{")
    again = opened(tmp_path, "two" if how == "another identity" else "one")
    assert (again.generation, len(again)) == (0, 0)


def test_it_tells_which_vectors_are_missing_or_others(tmp_path: Path) -> None:
    vectors, store = unit_vectors(4), opened(tmp_path)
    store.apply(came(["a", "b", "c"], vectors[:3]))
    store.write()
    store.apply(VectorChange(2, ("c",), vectors[3:], removed=("b",)))
    assert store.differing(came(["a", "b", "c", "d"], vectors)) == ["b", "c", "d"]
    store.clear()
    assert len(store) == 0


def test_a_vector_is_replaced(tmp_path: Path) -> None:
    vectors = unit_vectors(3)
    store = FaissStore(tmp_path)
    store.apply(came(["a", "b"], vectors[:2]))
    for _ in range(2):
        store.apply(came(["a"], vectors[2:]))
        assert len(store) == 2
        (hits,) = store.search(vectors[2:], 5, None)
        assert hits[0].passage_id == "a"
        assert hits[0].score == pytest.approx(1, abs=0.02)
        store.write()


def test_ties_go_by_id_and_filters_by_name(tmp_path: Path) -> None:
    same = np.repeat(unit_vectors(1), 4, axis=0)
    store = FaissStore(tmp_path)
    store.apply(came(["d", "b"], same[:2]))
    store.write()
    store.apply(came(["c", "a"], same[2:]))
    assert found_ids(store, same[0], 3) == ["a", "b", "c"]
    assert found_ids(store, same[0], 3, ["d", "c", "nowhere"]) == ["c", "d"]
    assert found_ids(store, same[0], 3, []) == []


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    assert FaissStore(tmp_path).search(unit_vectors(2), 3, None) == [[], []]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=4), st.booleans()), max_size=6))
def test_any_order_of_adding_and_saving(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[int], bool]]
) -> None:
    place = tmp_path_factory.mktemp("dense")
    model: dict[str, NDArray[np.float32]] = {}
    store = FaissStore(place)
    for number, (ids, save) in enumerate(steps):
        vectors = unit_vectors(len(ids), seed=number)
        store.apply(came([str(id) for id in ids], vectors))
        model.update(zip(map(str, ids), vectors, strict=True))
        if save:
            store.generation += 1
            store.write()
            store = FaissStore(place)
    (query,) = unit_vectors(1, seed=99)
    hits = {hit.passage_id: hit.score for hit in store.search(query[None], 100, None)[0]}
    assert hits == pytest.approx({id: float(vector @ query) for id, vector in model.items()}, abs=0.02)
