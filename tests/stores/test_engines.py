"""What every engine does, whether it is a folder or a server: one body of tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engines import Engine
from small_corpus import DOCUMENTS, QUERY, all_passages, best, encode_all, encoded, nearest, plain, readers, words

from sparc_search.encoder import Encoder
from sparc_search.errors import IndexFailure, IndexLocked, IndexMismatch, IndexNotFound, UsageError
from sparc_search.records import Document, Section
from sparc_search.stored import FeatureCount, Listing

PROTOCOLS = (
    Store,
    Pinning,
    DenseSearch,
    VectorSource,
    Matching,
    SourceCatalogue,
    Sized,
    Described,
    Enumerable,
    Compactable,
    Verifiable,
    Rebuildable,
)


@pytest.fixture
def store(engine: Engine, toy_encoder: Encoder) -> Iterator[Any]:
    with engine.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


def test_it_is_what_the_plugin_points_ask_for(store: Any) -> None:
    for protocol in PROTOCOLS:
        assert isinstance(store, protocol), protocol
    with store.view() as view:
        for protocol in (DenseSearch, Matching, BatchFetch):
            assert isinstance(view, protocol), protocol


def test_passages_come_back_as_they_went_in(store: Any, toy_encoder: Encoder) -> None:
    document = Document("odd", "Grüße aus Köln 1999.", "Titel", "a/b", {"k": "v", "leer": ""}, (Section(0, "H", 3),))
    one = encoded(document, toy_encoder)
    odd = {"other": "1", "a.b": "x=y", "": "empty", ".": "dot", "long": "x" * 40_000, "c\x01": "\x00", "%": "%3D"}
    passage = replace(one.passages[0].passage, page=7, joints=(5, 9), title="Titel > H", metadata=odd)
    store.add([replace(one, passages=(replace(one.passages[0], passage=passage),))])
    (stored,) = store.fetch(["odd/0"])
    assert stored.passage == passage
    assert np.array_equal(stored.block.start.vectors, one.passages[0].block.start.vectors)
    for key, value in odd.items():
        assert store.matching({key: value}) == ["odd/0"], key
        assert store.matching({key: value + "?"}) == []


def test_documents_come_back_as_they_went_in(store: Any, toy_encoder: Encoder) -> None:
    sections = (Section(0, "H", 3), Section(9, "I", None, 2))
    document = Document("a odd", "Grüße aus Köln 1999.", "Titel", "a/b", {"k": "v", "a.b": "y" * 40_000}, sections)
    store.add([encoded(document, toy_encoder)])
    first, *others = store.documents()
    expected = encoded(document, toy_encoder)
    assert (first.document, first.content_hash) == (document, expected.content_hash)
    (passage,) = first.passages
    assert passage.passage == expected.passages[0].passage
    assert {field: dict(values) for field, values in passage.features.items()} == expected.passages[0].features
    assert [one.document for one in others] == list(DOCUMENTS)
    assert [len(one.passages) for one in others] == [2, 1]


def test_fetch_keeps_the_order_and_leaves_out_what_is_gone(store: Any) -> None:
    ids = ["seas/0", "nowhere", "alps/1", "alps/0"]
    assert [one.passage.id for one in store.fetch(ids)] == ["seas/0", "alps/1", "alps/0"]
    assert store.fetch([]) == []
    assert len(store.fetch([f"no-{n}" for n in range(2000)] + ["alps/0"])) == 1


def test_blocks_end_to_end_are_those_of_the_passages(store: Any) -> None:
    with store.view() as view:
        ids, batch = view.fetch_batch(["seas/0", "nowhere", "alps/1"])
        assert ids == ["seas/0", "alps/1"]
        assert batch is not None
        assert view.fetch_batch(["nowhere"]) == ([], None)


def test_searches_equal_the_definition(engine: Engine, toy_encoder: Encoder) -> None:
    documents = words(40)
    passages = all_passages(documents, toy_encoder)
    (question,) = toy_encoder.encode_questions(["Which red sea is north?"])
    with engine.open() as store:
        for begin in range(0, 40, 20):
            store.add(encode_all(documents[begin : begin + 20], toy_encoder))
        for k in (1, 3, 7, 1000):
            hits, expected = store.sparse_search(QUERY, k, {}), best(passages, QUERY, k)
            assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in expected]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], rel=1e-6)
            (near,) = store.dense_search(question.passage_vector[None], k, {})
            assert [hit.passage_id for hit in near] == nearest(passages, question.passage_vector, k)


def test_filters_apply_before_the_cut(engine: Engine, toy_encoder: Encoder) -> None:
    documents = words(40)
    passages = all_passages([d for d in documents if d.metadata["group"] == "2"], toy_encoder)
    (question,) = toy_encoder.encode_questions(["Which red sea is north?"])
    with engine.open() as store:
        store.add(encode_all(documents, toy_encoder))
        where = {"group": "2"}
        hits = store.sparse_search(QUERY, 5, where)
        assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in best(passages, QUERY, 5)]
        (near,) = store.dense_search(question.passage_vector[None], 5, where)
        assert [hit.passage_id for hit in near] == nearest(passages, question.passage_vector, 5)
        assert sorted(store.matching(where)) == [p.passage.id for p in passages]
        store.delete([documents[2].id])
        assert sorted(store.matching(where)) == [p.passage.id for p in passages[1:]]
        assert store.matching({"group": "2", "no": "such"}) == []
        assert len(store.matching({})) == 39


def test_replacing_a_document_leaves_nothing_of_the_old(store: Any, toy_encoder: Encoder) -> None:
    store.add([encoded(plain("alps", "Only lakes."), toy_encoder)])
    assert [p.passage.text for p in store.fetch(["alps/0", "alps/1"])] == ["Only lakes."]
    assert store.sparse_search({"lex": {"eiger": 1.0}}, 5, {}) == []
    assert store.statistics(["eiger", "lakes", "the"]).document_frequency == {"lakes": 1, "the": 1}
    assert store.matching({"kind": "mountains"}) == []
    assert store.statistics([]).passages == 2
    (near,) = store.dense_search(np.ones((1, 4), np.float32), 10, {})
    assert {hit.passage_id for hit in near} == {"alps/0", "seas/0"}


def test_of_two_with_one_id_in_a_batch_the_last_counts(store: Any, toy_encoder: Encoder) -> None:
    store.add(encode_all([plain("x", "First."), plain("x", "Second.")], toy_encoder))
    assert [p.passage.text for p in store.fetch(["x/0"])] == ["Second."]


def test_counts_are_kept_up(store: Any, toy_encoder: Encoder) -> None:
    documents = words(30)
    store.add(encode_all(documents, toy_encoder))
    store.delete([d.id for d in documents[::2]])
    store.add(encode_all(words(5, seed=1) + documents[2:4], toy_encoder))
    left = [*DOCUMENTS, *documents[1::2], *words(5, seed=1), documents[2]]
    expected: Counter[str] = Counter()
    for passage in all_passages(left, toy_encoder):
        expected.update(list(passage.features["lex"]))
    found = store.statistics([*expected, "nowhere"])
    assert found.document_frequency == expected
    assert found.passages == len(all_passages(left, toy_encoder))
    facts = store.describe()
    assert (facts["documents"], facts["passages"]) == (len(left), found.passages)
    assert facts["words"] == sum(len(p.passage.text.split()) for p in all_passages(left, toy_encoder))
    assert store.verify().problems == ()


def test_deleting(store: Any) -> None:
    before = store.statistics([]).snapshot
    assert store.delete(["alps", "nowhere", "alps"]) == 1
    assert store.content_hashes(["alps", "seas"]).keys() == {"seas"}
    assert [id for id, _ in store.documents_from("")] == ["seas"]
    assert store.statistics([]).snapshot > before
    again = store.statistics([]).snapshot
    assert store.delete(["nowhere"]) == 0
    assert store.statistics([]).snapshot == again


def test_all_or_none(store: Any, toy_encoder: Encoder) -> None:
    good, bad = encode_all([plain("good", "Fine."), plain("bad", "Wrong.")], toy_encoder)
    stolen = replace(bad.passages[0], passage=replace(bad.passages[0].passage, id="alps/0"))
    with pytest.raises(IndexFailure, match="alps/0"):
        store.add([good, replace(bad, passages=(stolen,))])
    assert store.content_hashes(["good", "bad"]) == {}
    assert store.statistics([]).passages == 3
    assert [one.passage.document_id for one in store.fetch(["alps/0", "good/0"])] == ["alps"]
    assert store.verify().problems == ()


def test_where_documents_come_from(store: Any, toy_encoder: Encoder) -> None:
    store.add(encode_all(words(6), toy_encoder))
    assert list(store.documents_from("s/1/")) == [("d0-001", "s/1/f1"), ("d0-004", "s/1/f4")]
    assert len(list(store.documents_from(""))) == 8
    assert list(store.documents_from("t")) == []


def test_size(store: Any, toy_encoder: Encoder) -> None:
    before = store.size_in_bytes()
    store.add(encode_all(words(50), toy_encoder))
    assert store.size_in_bytes() > before > 0


def test_compacting_changes_nothing_that_is_asked(store: Any) -> None:
    store.delete(["alps"])
    before = store.sparse_search({"lex": {"sea": 1.0}}, 5, {})
    store.compact()
    assert store.sparse_search({"lex": {"sea": 1.0}}, 5, {}) == before


# --- opening ---------------------------------------------------------------------------------------------------------


def test_what_was_added_is_there_after_reopening(engine: Engine, toy_encoder: Encoder) -> None:
    query = {"lex": {"eiger": 1.0, "sea": 0.5}}
    with engine.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        expected = store.sparse_search(query, 5, {})
        assert len(expected) == 2
    with engine.open(writable=False) as store:
        assert store.sparse_search(query, 5, {}) == expected
        assert store.content_hashes(["alps"]) == {"alps": f"hash of {DOCUMENTS[0].text}"}


def test_there_is_none(engine: Engine) -> None:
    with pytest.raises(IndexNotFound, match="ingest"):
        engine.open(writable=False)
    with pytest.raises(IndexNotFound):
        engine.open("", writable=True)


def test_another_model(engine: Engine, store: Any) -> None:
    with pytest.raises(IndexMismatch, match=r"toy-1.*toy-2.*reencode"):
        engine.open("toy-2", writable=False)
    with engine.open("", writable=False) as reader:
        assert reader.encoder == "toy-1"


def test_a_reader_does_not_write(engine: Engine, store: Any, toy_encoder: Encoder) -> None:
    with engine.open(writable=False) as reader, pytest.raises(UsageError, match="writable"):
        reader.add(encode_all(DOCUMENTS, toy_encoder))


def test_a_second_writer_is_turned_away_by_name(engine: Engine, store: Any) -> None:
    with pytest.raises(IndexLocked, match="another process is writing"):
        engine.open()
    store.close()
    engine.open().close()


def test_a_reader_sees_what_a_writer_commits(engine: Engine, store: Any, toy_encoder: Encoder) -> None:
    with engine.open(writable=False) as reader:
        for number in range(3):
            store.add([encoded(plain(f"new-{number}", "A zebra."), toy_encoder)])
            assert len(reader.sparse_search({"lex": {"zebra": 1.0}}, 5, {})) == number + 1
            (near,) = reader.dense_search(np.ones((1, 4), np.float32), 10, {})
            assert f"new-{number}/0" in {hit.passage_id for hit in near}
        store.delete(["new-1"])
        (near,) = reader.dense_search(np.ones((1, 4), np.float32), 10, {})
        assert {hit.passage_id for hit in near} == {"alps/0", "alps/1", "seas/0", "new-0/0", "new-2/0"}


def test_readers_go_on_while_a_writer_writes(engine: Engine, store: Any, toy_encoder: Encoder) -> None:
    def look(view: Any) -> None:
        hits = [hit.passage_id for hit in view.sparse_search(QUERY, 10, {})]
        assert len(set(hits)) == len(hits)
        assert all(passage.passage.id in hits for passage in view.fetch(hits))

    with readers(lambda: engine.open(writable=False), look):
        for seed in range(1, 5):
            store.add(encode_all(words(5, seed), toy_encoder))
            store.delete([f"d{seed}-001", f"d{seed - 1}-002"])


# --- vectors for other stores ----------------------------------------------------------------------------------------


def test_vector_changes_tell_what_came_since(store: Any, toy_encoder: Encoder) -> None:
    first = list(store.vector_changes(0))
    assert [id for change in first for id in change.passage_ids] == ["alps/0", "alps/1", "seas/0"]
    store.add([encoded(plain("new", "More."), toy_encoder)])
    changes = list(store.vector_changes(first[-1].generation))
    assert [id for change in changes for id in change.passage_ids] == ["new/0"]
    (block,) = [p.block for p in store.fetch(["new/0"])]
    assert np.allclose(changes[0].vectors[0], block.passage_vector * block.passage_scale)
    assert list(store.vector_changes(changes[-1].generation)) == []


# --- another model ---------------------------------------------------------------------------------------------------


def test_made_anew_for_another_model_while_it_serves(engine: Engine, store: Any, toy_encoder: Encoder) -> None:
    with engine.open("", writable=False) as reader:
        with store.rebuilding("toy-2") as new:
            new.add(encode_all(DOCUMENTS[:1], toy_encoder))
            assert reader.statistics([]).passages == 3
        store.close()
    with pytest.raises(IndexMismatch, match=r"toy-2.*toy-1"):
        engine.open("toy-1", writable=False)
    with engine.open("toy-2", writable=False) as reader:
        assert reader.statistics([]).passages == 2
        assert reader.verify().problems == ()


def test_a_rebuild_that_fails_changes_nothing_and_is_gone_on_with(
    engine: Engine, store: Any, toy_encoder: Encoder
) -> None:
    def stopped() -> None:
        with store.rebuilding("toy-2") as new:
            new.add(encode_all(DOCUMENTS[:1], toy_encoder))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stopped()
    assert store.statistics([]).passages == 3
    with store.rebuilding("toy-2") as new:
        assert new.content_hashes(["alps", "seas"]).keys() == {"alps"}
        new.add(encode_all(DOCUMENTS[1:], toy_encoder))
    store.close()
    with engine.open("toy-2", writable=False) as reader:
        assert reader.statistics([]).passages == 3


# --- to be looked at -------------------------------------------------------------------------------------------------


def test_features_and_lists(engine: Engine, toy_encoder: Encoder) -> None:
    documents = words(20)
    passages = all_passages(documents, toy_encoder)
    with engine.open() as store:
        assert isinstance(store, FeatureCatalogue)
        assert isinstance(store, Browsable)
        store.add(encode_all(documents, toy_encoder))
        for field in ("start", "end", "lex"):
            counted = Counter(name for passage in passages for name in passage.features[field])
            expected = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:5]
            assert store.frequent_features(field, 5) == [FeatureCount(*item) for item in expected]
        values = [passage.features["lex"]["red"] for passage in passages if "red" in passage.features["lex"]]
        found = store.feature_statistics("lex", "red", 4)
        assert (found.passages, found.smallest, found.largest) == (len(values), min(values), max(values))
        assert sum(found.counts) == len(values)
        assert store.feature_statistics("lex", "nosuch", 4).passages == 0
        assert [one.name for one in store.features_like("19", 5)] == sorted(
            ("1901", "1902"), key=lambda name: (-sum(name in p.features["lex"] for p in passages), name)
        )
        assert all(one.name.startswith("red ") for one in store.features_like("red ", 5))
        listed = store.list_passages(Listing(features=(("lex", "red"),), where=(("group", "1"),), size=3))
        fitting = [p for p in passages if "red" in p.features["lex"] and p.passage.metadata["group"] == "1"]
        assert [passage.id for passage in listed.passages] == [p.passage.id for p in fitting[:3]]
        assert listed.more == (len(fitting) > 3)
        assert store.list_passages(Listing(document_id="d0-003")).passages == (passages[3].passage,)
        green = store.list_passages(Listing(text="green", size=50)).passages
        assert [p.id for p in green] == [p.passage.id for p in passages if "green" in p.passage.text]
        page = store.list_documents(Listing(offset=5, size=4))
        assert [one.id for one in page.documents] == [one.id for one in documents[5:9]]
        assert (page.total, page.more, page.documents[0].metadata) == (20, True, documents[5].metadata)
        assert store.metadata_values(2) == {"group": [("0", 5), ("1", 5)]}
        assert store.sample(100) == [p.passage.id for p in passages]
        assert len(store.sample(5)) == 5
