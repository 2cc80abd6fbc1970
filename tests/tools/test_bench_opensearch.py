"""The benchmark of servers measures what it says: the same passages in every way, parts that add up, no leftovers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from loads import long_documents
from small_corpus import encode_all, words

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.settings import Settings
from tools import opensearch_latency as latency
from tools import opensearch_loading as loading
from tools import opensearch_sizes as sizes
from tools.bench_opensearch import main
from tools.opensearch_place import Place, place


@pytest.fixture
def here(opensearch_url: str) -> Iterator[Place]:
    with place(opensearch_url, "", Settings(encoder="toy")) as found:
        yield found


def test_the_share_is_that_of_the_middle_turn() -> None:
    found = loading.Loading([10, 10, 10])
    found.seconds = {loading.PLAIN: [1.0, 1.0, 1.0], loading.STORE: [1.0, 2.0, 10.0]}
    assert found.share(loading.STORE) == 0.5
    assert found.rate(loading.PLAIN) == 10


def test_portions_lose_nothing(toy_encoder: Encoder) -> None:
    documents = long_documents(7, toy_encoder)
    found = list(loading.portions(documents, 4))
    assert [one for some in found for one in some] == documents
    assert [len(some) for some in found] == [2, 2, 2, 1]


def test_a_field_is_left_out_of_the_body() -> None:
    assert json.loads(sizes.without('{"id": "a", "text": "b"}', ("text",))) == {"id": "a"}


def test_light_clauses_are_those_far_below_the_heaviest_of_their_field() -> None:
    query = latency.without_light({"start": {"a": 1.0, "b": 0.05}, "lex": {"c": 0.05}, "end": {}})
    assert query == {"start": {"a": 1.0}, "lex": {"c": 0.05}, "end": {}}


def test_every_way_loads_every_passage_and_nothing_is_left(here: Place, toy_encoder: Encoder) -> None:
    documents = long_documents(12, toy_encoder)
    found = loading.measure(here, toy_encoder.fingerprint, lambda: documents, passages=40, turn=8)
    assert found.count >= 40
    assert {len(seconds) for seconds in found.seconds.values()} == {len(found.passages)}
    assert not here.server.request("GET", f"/{here.prefix}-*/_settings")


def test_fields_and_source_add_up_and_the_option_saves(here: Place, toy_encoder: Encoder) -> None:
    passages = [one for document in long_documents(60, toy_encoder) for one in document.passages]
    found = sizes.measure(here, passages)
    parts = sum(found[name] for name in (*sizes.PARTS, sizes.SOURCE_FEATURES, sizes.SOURCE_REST))
    assert parts == pytest.approx(found[sizes.WHOLE], rel=0.25)
    assert found["`block`"] > 0
    assert found["`start`"] > 0
    assert found[sizes.SOURCE_FEATURES] > 0


def test_every_way_to_ask_is_timed_for_every_question(here: Place, toy_encoder: Encoder) -> None:
    with here.engine("search", toy_encoder.fingerprint, writable=True) as engine:
        engine.writer().add(encode_all(words(30), toy_encoder))
    with Index.open(settings=here.named("search"), encoder=toy_encoder) as index:
        times = latency.measure(index, ["red North 1901", "blue sea", "green lake"])
    assert {len(one.wall) for one in times.values()} == {3}
    assert times[latency.SPARSE].hits[0]
    assert len(times[latency.MATCH].took) == 3


def test_an_index_needs_questions(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["index"])
    assert "needs questions" in capsys.readouterr().err
