"""What every engine does, whether it is a folder or a server: one body of tests.

What is optional is tested where it is there. Engines of other distributions are held to the same (helpers/engines.py).
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import ENGINES, EXAMPLES, SERVERS, Engine, Store, made
from small_corpus import DOCUMENTS, QUERY, all_passages, best, encode_all, encoded, nearest, plain, readers, words

from sparc_search.encoder import Encoder
from sparc_search.engine import Admin, View, supports
from sparc_search.errors import IndexLocked, IndexMismatch, IndexNotFound, Unsupported, UsageError
from sparc_search.records import AlignedPiece, Border, Document, Features, Section
from sparc_search.stored import FeatureCount, FetchedBlocks, Listing


@pytest.fixture(params=[*ENGINES, *EXAMPLES, *SERVERS])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    yield from made(request, request.param, tmp_path)


WHOLE = pytest.mark.parametrize("engine", [*ENGINES, *SERVERS], indirect=True)
"""A test of something optional, which the engines of the package have and an example may do without."""


@pytest.fixture
def store(engine: Engine, toy_encoder: Encoder) -> Iterator[Store]:
    with engine.open() as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


def test_what_it_lacks_is_refused_in_one_way(store: Store) -> None:
    with store.view() as view:
        parts = [(view, View), (store.engine.admin(), Admin)]
        for part, base in parts:
            for name, method in vars(base).items():
                if inspect.isfunction(method) and not supports(part, method) and "raise" in inspect.getsource(method):
                    arguments = [None] * (len(inspect.signature(method).parameters) - 1)
                    with pytest.raises(Unsupported, match="this engine cannot"):
                        getattr(part, name)(*arguments)


STRUCTURE: dict[str, Any] = {
    "borders": (Border(5), Border(9, "item"), Border(11, "cell"), Border(15, "code")),
    "encoded_text": "City: Grüße aus Köln 1999.",
    "alignment": (AlignedPiece(0, 6, 0, 0), AlignedPiece(6, 26, 0, 20)),
}


def test_passages_come_back_as_they_went_in(store: Store, toy_encoder: Encoder) -> None:
    document = Document("odd", "Grüße aus Köln 1999.", "Titel", "a/b", {"k": "v", "leer": ""}, (Section(0, "H", 3),))
    one = encoded(document, toy_encoder)
    odd = {"other": "1", "a.b": "x=y", "": "empty", ".": "dot", "long": "x" * 40_000, "c\x01": "\x00", "%": "%3D"}
    passage = replace(one.passages[0].passage, page=7, **STRUCTURE, title="Titel > H", metadata=odd)
    store.add([replace(one, passages=(replace(one.passages[0], passage=passage),))])
    (stored,) = store.fetch(["odd/0"])
    assert stored.passage == passage
    assert np.array_equal(stored.block.start.vectors, one.passages[0].block.start.vectors)
    query = {"lex": dict.fromkeys(one.passages[0].features["lex"], 1.0)}
    for key, value in odd.items():
        assert [hit.passage_id for hit in store.sparse_search(query, 5, {key: value})] == ["odd/0"], key
        assert store.sparse_search(query, 5, {key: value + "?"}) == []
        if store.supports(View.matching):
            assert store.matching({key: value}) == ["odd/0"], key
            assert store.matching({key: value + "?"}) == []


@WHOLE
def test_documents_come_back_as_they_went_in(store: Store, toy_encoder: Encoder) -> None:
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


def test_fetch_keeps_the_order_and_leaves_out_what_is_gone(store: Store) -> None:
    ids = ["seas/0", "nowhere", "alps/1", "alps/0"]
    assert [one.passage.id for one in store.fetch(ids)] == ["seas/0", "alps/1", "alps/0"]
    assert store.fetch([]) == []
    assert len(store.fetch([f"no-{n}" for n in range(2000)] + ["alps/0"])) == 1


def test_blocks_end_to_end_are_those_of_the_passages(store: Store) -> None:
    with store.view() as view:
        found = view.fetch_blocks(["seas/0", "nowhere", "alps/1"])
        assert found.passage_ids == ["seas/0", "alps/1"]
        assert found.blocks is not None
        assert len(found.blocks) == 2
        assert found.missing == ()
        assert view.fetch_blocks(["nowhere"]) == FetchedBlocks([], None)
        passages = view.fetch_passages(["seas/0", "nowhere", "alps/1"]).passages
        assert [passage.id for passage in passages] == ["seas/0", "alps/1"]


def test_several_queries_find_what_each_finds_alone(store: Store) -> None:
    queries: list[Features] = [{"lex": {"eiger": 1.0}}, {}, {"lex": {"sea": 1.0}}, {"start": {}, "end": {}}, QUERY]
    with store.view() as view:
        together = view.sparse_search(queries, 2, {})
        assert together == [view.sparse_search([query], 2, {})[0] for query in queries]
        assert [len(found.hits) for found in together[:4]] == [1, 0, 1, 0]
        assert view.sparse_search([], 2, {}) == []


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
            if store.has_vectors():
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
        if store.has_vectors():
            (near,) = store.dense_search(question.passage_vector[None], 5, where)
            assert [hit.passage_id for hit in near] == nearest(passages, question.passage_vector, 5)
        assert sorted(store.matching(where)) == [p.passage.id for p in passages]
        store.delete([documents[2].id])
        assert sorted(store.matching(where)) == [p.passage.id for p in passages[1:]]
        assert store.matching({"group": "2", "no": "such"}) == []
        assert len(store.matching({})) == 39


def test_a_filter_compares_with_every_value_of_a_list(engine: Engine, toy_encoder: Encoder) -> None:
    tags = {"a": '["red", "two words", 7, "red"]', "b": '["blue"]', "c": "red", "d": "[red", "e": '[["red"]]'}
    documents = [Document(id, "A red sea.", metadata={"tags": value}) for id, value in tags.items()]
    with engine.open() as store:
        store.add(encode_all(documents, toy_encoder))
        found = {
            value: {hit.passage_id.partition("/")[0] for hit in store.sparse_search(QUERY, 9, {"tags": value})}
            for value in ("red", "two words", "7", "blue", "[red")
        }
    assert found == {"red": {"a", "c"}, "two words": {"a"}, "7": {"a"}, "blue": {"b"}, "[red": {"d"}}


def test_replacing_a_document_leaves_nothing_of_the_old(store: Store, toy_encoder: Encoder) -> None:
    store.add([encoded(plain("alps", "Only lakes."), toy_encoder)])
    assert [p.passage.text for p in store.fetch(["alps/0", "alps/1"])] == ["Only lakes."]
    assert store.sparse_search({"lex": {"eiger": 1.0}}, 5, {}) == []
    assert store.statistics(["eiger", "lakes", "the"]).document_frequency == {"lakes": 1, "the": 1}
    assert store.sparse_search({"lex": {"lakes": 1.0}}, 5, {"kind": "mountains"}) == []
    assert store.statistics([]).passages == 2
    if store.has_vectors():
        (near,) = store.dense_search(np.ones((1, 4), np.float32), 10, {})
        assert {hit.passage_id for hit in near} == {"alps/0", "seas/0"}


def test_of_two_with_one_id_in_a_batch_the_last_counts(store: Store, toy_encoder: Encoder) -> None:
    store.add(encode_all([plain("x", "First."), plain("x", "Second.")], toy_encoder))
    assert [p.passage.text for p in store.fetch(["x/0"])] == ["Second."]


def test_counts_are_kept_up(store: Store, toy_encoder: Encoder) -> None:
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
    if store.supports(Admin.describe):
        facts = store.describe()
        assert (facts["documents"], facts["passages"]) == (len(left), found.passages)
        assert facts["words"] == sum(len(p.passage.text.split()) for p in all_passages(left, toy_encoder))
    if store.supports(Admin.verify):
        assert store.verify().problems == ()


def test_deleting(store: Store) -> None:
    before = store.statistics([]).snapshot
    assert store.delete(["alps", "nowhere", "alps"]) == 1
    assert store.content_hashes(["alps", "seas"]).keys() == {"seas"}
    assert store.fetch(["alps/0"]) == []
    assert store.statistics([]).snapshot > before
    again = store.statistics([]).snapshot
    assert store.delete(["nowhere"]) == 0
    assert store.statistics([]).snapshot == again


def test_what_is_refused_is_not_there_and_all_else_is(store: Store, toy_encoder: Encoder) -> None:
    good, bad, replaced, odd = encode_all(
        [plain("good", "Fine."), plain("bad", "Wrong."), plain("seas", "Lakes."), plain("odd", "Odd.")], toy_encoder
    )
    taken = replace(bad.passages[0], passage=replace(bad.passages[0].passage, id="alps/0"))
    alike = replace(replaced.passages[0], passage=replace(replaced.passages[0].passage, id="good/0"))
    strange = replace(odd.passages[0], features={"nosuch": {"x": 1.0}})
    batch = [
        good,
        replace(bad, passages=(taken,)),
        replace(replaced, passages=(alike,)),
        replace(odd, passages=(strange,)),
    ]
    refused = {refusal.document_id: refusal for refusal in store.add_what_fits(batch)}
    assert refused.keys() == {"bad", "seas", "odd"}
    assert "alps/0" in refused["bad"].reason
    assert all(refusal.remedy for refusal in refused.values())
    assert store.content_hashes(["alps", "good", "bad", "seas", "odd"]).keys() == {"alps", "good"}
    assert store.statistics([]).passages == 3
    ids = ["alps/0", "alps/1", "good/0", "seas/0", "odd/0"]
    assert [one.passage.document_id for one in store.fetch(ids)] == ["alps", "alps", "good"]
    if store.supports(Admin.verify):
        assert store.verify().problems == ()


@WHOLE
def test_where_documents_come_from(store: Store, toy_encoder: Encoder) -> None:
    store.add(encode_all(words(6), toy_encoder))
    assert list(store.documents_from("s/1/")) == [("d0-001", "s/1/f1"), ("d0-004", "s/1/f4")]
    assert len(list(store.documents_from(""))) == 8
    assert list(store.documents_from("t")) == []


@WHOLE
def test_size(store: Store, toy_encoder: Encoder) -> None:
    before = store.size_in_bytes()
    store.add(encode_all(words(50), toy_encoder))
    assert store.size_in_bytes() > before > 0


@WHOLE
def test_compacting_changes_nothing_that_is_asked(store: Store) -> None:
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


def test_another_model(engine: Engine, store: Store) -> None:
    with pytest.raises(IndexMismatch, match=r"toy-1.*toy-2.*index upgrade"):
        engine.open("toy-2", writable=False)
    with engine.open("", writable=False) as reader:
        assert reader.encoder == "toy-1"


def test_a_reader_does_not_write(engine: Engine, store: Store, toy_encoder: Encoder) -> None:
    with engine.open(writable=False) as reader, pytest.raises(UsageError, match="writable"):
        reader.add(encode_all(DOCUMENTS, toy_encoder))


def test_a_second_writer_is_turned_away_by_name(engine: Engine, store: Store) -> None:
    with pytest.raises(IndexLocked, match="another process is writing"):
        engine.open()
    store.close()
    engine.open().close()


def test_a_reader_sees_what_a_writer_commits(engine: Engine, store: Store, toy_encoder: Encoder) -> None:
    with engine.open(writable=False) as reader:
        for number in range(3):
            store.add([encoded(plain(f"new-{number}", "A zebra."), toy_encoder)])
            assert len(reader.sparse_search({"lex": {"zebra": 1.0}}, 5, {})) == number + 1
            if reader.has_vectors():
                (near,) = reader.dense_search(np.ones((1, 4), np.float32), 10, {})
                assert f"new-{number}/0" in {hit.passage_id for hit in near}
        store.delete(["new-1"])
        assert len(reader.sparse_search({"lex": {"zebra": 1.0}}, 5, {})) == 2
        assert len(reader.fetch(["new-0/0", "new-1/0", "new-2/0"])) == 2


def test_readers_go_on_while_a_writer_writes(engine: Engine, store: Store, toy_encoder: Encoder) -> None:
    def look(view: Any) -> None:
        hits = [hit.passage_id for hit in view.sparse_search([QUERY], 10, {})[0].hits]
        assert len(set(hits)) == len(hits)
        assert all(passage.passage.id in hits for passage in view.fetch(hits).passages)

    with readers(lambda: engine.open(writable=False), look):
        for seed in range(1, 5):
            store.add(encode_all(words(5, seed), toy_encoder))
            store.delete([f"d{seed}-001", f"d{seed - 1}-002"])


# --- vectors for other stores ----------------------------------------------------------------------------------------


def test_vector_changes_tell_what_came_since(store: Store, toy_encoder: Encoder) -> None:
    first = list(store.vector_changes(0))
    assert [id for change in first for id in change.passage_ids] == ["alps/0", "alps/1", "seas/0"]
    store.add([encoded(plain("new", "More."), toy_encoder)])
    changes = list(store.vector_changes(first[-1].generation))
    assert [id for change in changes for id in change.passage_ids] == ["new/0"]
    (block,) = [p.block for p in store.fetch(["new/0"])]
    assert np.allclose(changes[0].vectors[0], block.passage_vector * block.passage_scale)
    assert list(store.vector_changes(changes[-1].generation)) == []


# --- another model ---------------------------------------------------------------------------------------------------


@WHOLE
def test_made_anew_for_another_model_while_it_serves(engine: Engine, store: Store, toy_encoder: Encoder) -> None:
    store.close()
    with engine.open("", writable=False) as reader, engine.rebuild("toy-2") as new:
        new.add(encode_all(DOCUMENTS[:1], toy_encoder))
        assert reader.statistics([]).passages == 3
        with pytest.raises(IndexLocked):
            engine.open()
    with pytest.raises(IndexMismatch, match=r"toy-2.*toy-1"):
        engine.open("toy-1", writable=False)
    with engine.open("toy-2", writable=False) as reader:
        assert reader.statistics([]).passages == 2
        if reader.supports(Admin.verify):
            assert reader.verify().problems == ()


@WHOLE
def test_a_rebuild_that_fails_changes_nothing_and_is_continued(
    engine: Engine, store: Store, toy_encoder: Encoder
) -> None:
    store.close()

    def stopped() -> None:
        with engine.rebuild("toy-2") as new:
            new.add(encode_all(DOCUMENTS[:1], toy_encoder))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stopped()
    with engine.open("", writable=False) as reader:
        assert reader.statistics([]).passages == 3
    with engine.rebuild("toy-2") as new:
        assert new.content_hashes(["alps", "seas"]).keys() == {"alps"}
        new.add(encode_all(DOCUMENTS[1:], toy_encoder))
    with engine.open("toy-2", writable=False) as reader:
        assert reader.statistics([]).passages == 3


@WHOLE
def test_a_rebuild_of_nothing_makes_an_index(engine: Engine, toy_encoder: Encoder) -> None:
    with engine.rebuild() as new:
        new.add(encode_all(DOCUMENTS, toy_encoder))
    with engine.open(writable=False) as reader:
        assert reader.statistics([]).passages == 3


# --- to be looked at -------------------------------------------------------------------------------------------------


@WHOLE
def test_features_and_lists(engine: Engine, toy_encoder: Encoder) -> None:
    documents = words(20)
    passages = all_passages(documents, toy_encoder)
    with engine.open() as store:
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
        features = [("lex", "red"), ("start", "red"), ("lex", "nosuch")]
        for listing in (Listing(), Listing(where=(("group", "1"),), features=(("lex", "red"),), size=3)):
            ids = {passage.id for passage in store.list_passages(replace(listing, size=50)).passages}
            among = [passage for passage in passages if passage.passage.id in ids]
            counts = [sum(name in passage.features[field] for passage in among) for field, name in features]
            assert store.count_features(listing, features) == counts
            assert View.count_features(store, listing, features) == counts  # the slow way of an engine without its own
        assert store.list_passages(Listing(document_id="d0-003")).passages == (passages[3].passage,)
        green = store.list_passages(Listing(text="green", size=50)).passages
        assert [p.id for p in green] == [p.passage.id for p in passages if "green" in p.passage.text]
        page = store.list_documents(Listing(offset=5, size=4))
        assert [one.id for one in page.documents] == [one.id for one in documents[5:9]]
        assert (page.total, page.more, page.documents[0].metadata) == (20, True, documents[5].metadata)
        assert store.metadata_values(2) == {"group": [("0", 5), ("1", 5)]}
        assert store.sample(100) == [p.passage.id for p in passages]
        assert len(store.sample(5)) == 5
