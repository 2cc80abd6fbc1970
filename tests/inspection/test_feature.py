from __future__ import annotations

import json

import pytest
from small_corpus import encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.errors import UsageError
from sparc_search.index import Index
from sparc_search.inspection import feature_view, passage_view, to_json


def test_an_ngram_across_the_index(index: Index) -> None:
    view = feature_view(index, "first climbed")
    start, end, lex = view.fields
    assert (start.field, end.field, lex.field) == ("start", "end", "lex")
    assert start.statistics.passages == 2
    assert start.share == pytest.approx(2 / 3)
    assert sum(start.statistics.counts) == 2
    assert {found.passage.id for found in start.top} == {"alps/0", "alps/1"}
    assert [found.value for found in start.top] == sorted((found.value for found in start.top), reverse=True)
    assert start.statistics.largest == start.top[0].value == 0.375
    assert "first climbed" in start.top[0].snippet
    assert lex.statistics.passages == 0
    assert lex.top == ()
    assert view.known


def test_as_a_person_writes_it(make, toy_encoder: Encoder) -> None:  # type: ignore[no-untyped-def]
    index = make(*encode_all([plain("d", "People like climbing mountains.")], toy_encoder))
    assert feature_view(index, "Climbing").name == "climb ##ing"
    assert feature_view(index, "climb ##ing").pieces == ("climb", "##ing")
    assert feature_view(index, ".").name == "%2E"
    assert feature_view(index, "%2E").known


def test_one_that_no_passage_has(index: Index) -> None:
    view = feature_view(index, "everest")
    assert not view.known
    assert all(field.statistics.passages == 0 and field.statistics.counts == () for field in view.fields)


def test_a_longer_phrase_leads_to_its_parts(index: Index) -> None:
    view = feature_view(index, "was first climbed")
    assert not view.known
    assert view.related[:2] == ("was first", "first climbed")


def test_no_name_at_all(index: Index) -> None:
    with pytest.raises(UsageError, match="not the name"):
        feature_view(index, " ")


@pytest.mark.parametrize("name", ["\ud800", "a" * 100_000, "\x00x", "word " * 500])
def test_strange_names_are_just_unknown(index: Index, name: str) -> None:
    assert not feature_view(index, name).known


def test_an_engine_without_statistics_is_measured(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of a clause with weight 1 are enough."""
    own = feature_view(index, "climbed").fields[0].statistics
    with index.engine.view() as view:
        for name in ("feature_statistics", "features_like"):
            monkeypatch.delattr(type(view), name)
    assert feature_view(index, "climbed").fields[0].statistics == own


def test_its_json_twin(index: Index) -> None:
    twin = to_json(feature_view(index, "climbed"))
    assert json.loads(json.dumps(twin, allow_nan=False)) == twin


def test_the_phrase_for_which_it_weighs_most(index: Index) -> None:
    fields = {field.field: field.top for field in feature_view(index, "climbed").fields}
    for side in ("start", "end"):
        for top in fields[side]:
            assert top.phrase is not None
            own = passage_view(index, top.passage.id, span=(top.phrase.start, top.phrase.end)).selection
            assert own is not None
            weight = next(getattr(row, side) for row in own.ngrams if row.name == "climbed")
            assert weight == top.value  # the value of the index is that of this phrase
            assert top.phrase.text == top.passage.text[top.phrase.start : top.phrase.end]
    assert all(top.phrase is None for top in fields["lex"])
