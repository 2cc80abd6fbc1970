"""Features and lists of the local store against the plain way: reading every document."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import golden
import numpy as np
import pytest
from engines import Store, open_local
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_corpus import encode_all, plain, words

from sparc_search.encoder import Encoder
from sparc_search.engine import Place
from sparc_search.stored import FeatureCount, FeatureFigures, Listing
from sparc_search.stores.local.engine import LocalEngine
from sparc_search.stores.local.postings import Postings

WORDS = ("ice", "snow", "rock", "peak", "fog", "the")


@pytest.fixture
def folder() -> Path:
    return Path(tempfile.mkdtemp())


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1, max_size=12), data=st.data()
)
def test_counts_are_those_of_the_documents_alive(
    toy_encoder: Encoder, texts: list[list[str]], data: st.DataObject
) -> None:
    documents = [plain(f"d{number:02}", " ".join(words)) for number, words in enumerate(texts)]
    removed = data.draw(st.sets(st.sampled_from([document.id for document in documents])))
    with tempfile.TemporaryDirectory() as place, open_local(Path(place) / "i", "toy-1", writable=True) as store:
        half = len(documents) // 2
        store.add(encode_all(documents[:half], toy_encoder))
        store.compact()  # one segment of files, and one in memory
        store.add(encode_all(documents[half:], toy_encoder))
        store.delete(removed)
        alive = [passage for document in store.documents() for passage in document.passages]
        for field in ("start", "end", "lex"):
            counted = Counter(name for passage in alive for name in passage.features[field])
            expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
            assert store.frequent_features(field, 5) == [FeatureCount(*item) for item in expected[:5]]
            for name in [*counted, "nosuch"][:5]:
                values = [passage.features[field][name] for passage in alive if name in passage.features[field]]
                found = store.feature_statistics(field, name, 4)
                assert found.passages == len(values) == sum(found.counts)
                if values:
                    assert np.isclose(found.mean, np.mean(values))
                    assert (found.smallest, found.largest) == (min(values), max(values))
        for word in WORDS:
            listed = store.list_passages(Listing(features=(("lex", word),), size=100))
            assert [p.id for p in listed.passages] == [p.passage.id for p in alive if word in p.features["lex"]]
            assert listed.total == len(listed.passages)


def test_names_that_begin_alike(folder: Path, toy_encoder: Encoder) -> None:
    texts = ("deep snow", "deep sea", "deep sea", "seal", "deep sea fog")
    with open_local(folder / "i", "toy-1", writable=True) as store:
        store.add(encode_all([plain(f"d{n}", text) for n, text in enumerate(texts)], toy_encoder))
        assert store.features_like("se", 9) == [FeatureCount("sea", 3), FeatureCount("seal", 1)]
        assert store.features_like("deep s", 9) == [FeatureCount("deep sea", 3), FeatureCount("deep snow", 1)]
        assert store.features_like("deep s", 1) == [FeatureCount("deep sea", 3)]
        assert store.features_like("nosuch x", 9) == []


def test_nothing_in_an_empty_index(folder: Path) -> None:
    with open_local(folder / "i", "toy-1", writable=True) as store:
        assert store.sample(5) == []
        assert store.frequent_features("start", 5) == []
        assert store.list_passages(Listing()).total == 0
        assert store.list_documents(Listing(text="a")).documents == ()


def test_words_of_a_stranger_are_no_statement(folder: Path, toy_encoder: Encoder) -> None:
    with open_local(folder / "i", "toy-1", writable=True) as store:
        store.add(encode_all([plain("d", "100%_sure \\ it's", {"k'": '"v"'})], toy_encoder))
        for text in ("100%_", "\\", "it's", "' OR 1=1 --", '"', "%"):
            found = store.list_passages(Listing(text=text)).passages  # words of the text, or any part of the metadata
            assert [passage.id for passage in found] == (["d/0"] if text in ("100%_", "it's", '"') else [])
        assert store.list_passages(Listing(where=(("k'", '"v"'),))).total == 1
        assert store.list_passages(Listing(features=(("lex", "'; DROP TABLE passages"),))).total == 0


def figures_by_hand(store: Store) -> dict[str, FeatureFigures]:
    total: dict[str, FeatureFigures] = {}
    for document in store.documents():
        for passage in document.passages:
            for field in ("start", "end", "lex"):
                for name, value in passage.features[field].items():
                    own = FeatureFigures(name, **{field: (1, value)})
                    total[name] = total[name] + own if name in total else own
    return total


def same_figures(store: Store) -> bool:
    found = {own.name: own for own in store.feature_figures()}
    wanted = figures_by_hand(store)
    assert found.keys() == wanted.keys()
    for name, own in wanted.items():
        for (count, total), (expected, values) in zip(found[name].by_field, own.by_field, strict=True):
            assert count == expected
            assert np.isclose(total, values)
    return True


def test_figures_are_kept_with_each_segment_and_merged_with_it(folder: Path, toy_encoder: Encoder) -> None:
    with open_local(folder / "i", "toy-1", writable=True) as store:
        for seed in range(3):
            store.add(encode_all(words(8, seed=seed), toy_encoder))
            store.engine.writer().flush()
        assert same_figures(store)
        store.delete(["d0-001", "d2-003"])
        assert same_figures(store)
        store.compact()
        assert same_figures(store)
    (kept,) = (folder / "i").rglob("features.json")
    assert len(json.loads(kept.read_text())) > 10


def test_a_segment_that_was_written_without_figures_gets_them(folder: Path, toy_encoder: Encoder) -> None:
    with zipfile.ZipFile(golden.ARCHIVES[2]) as archive:
        archive.extractall(folder / "i")
    assert LocalEngine.upgrade(Place(folder / "i"))
    assert not list((folder / "i").rglob("features.json"))
    with open_local(folder / "i", toy_encoder.fingerprint, writable=True) as store:
        assert same_figures(store)
        store.add(encode_all(words(3, seed=7), toy_encoder))
        store.compact()
        assert same_figures(store)
    assert list((folder / "i").rglob("features.json"))


def test_rankings_read_no_posting_of_what_is_kept(
    folder: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_local(folder / "i", "toy-1", writable=True) as store:
        store.add(encode_all(words(20), toy_encoder))
        store.compact()
    with open_local(folder / "i", "toy-1") as store:
        monkeypatch.setattr(Postings, "find", lambda *_: pytest.fail("read from the postings"))
        assert store.frequent_features("lex", 3)
        assert store.feature_figures()
