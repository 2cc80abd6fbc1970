from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_corpus import encode_all, plain

from sparc_search.encoder import Encoder
from sparc_search.errors import NotThere, UsageError
from sparc_search.index import Index
from sparc_search.inspection import NgramRow, PassageView, passage_view, to_json
from sparc_search.ngrams import round_up_9bits
from sparc_search.records import TITLE, EncodedPassage, Phrases, SparseColumns
from sparc_search.stored import EncodedDocument

EIGER = "alps/0"  # The Eiger was first climbed in 1858 by Charles Barrington.


def row(rows: tuple[NgramRow, ...], name: str) -> NgramRow:
    return next(row for row in rows if row.name == name)


def test_every_token_with_its_characters(index: Index) -> None:
    view = passage_view(index, EIGER)
    assert [token.text for token in view.tokens[:7]] == ["The", "Eiger", "was", "first", "climbed", "in", "1858"]
    assert all(view.passage.text[token.start : token.end] == token.text for token in view.tokens)
    assert [token.number for token in view.tokens] == list(range(len(view.tokens)))
    assert view.tokens[-1].punctuation
    assert (view.tokens[-1].kept_start, view.tokens[-1].kept_end) == (False, False)
    assert view.tokens[1].kept_start
    assert view.tokens[1].kept_end
    assert (view.kept_starts, view.kept_ends) == (10, 10)


def test_a_token_is_shaded_by_the_most_it_weighs(index: Index) -> None:
    view = passage_view(index, EIGER)
    # For the phrase beside it: a start gives 3/4, an end 1, a bigram half of that.
    assert view.tokens[4].weights == {"start_1": 0.75, "start_2": 0.375, "end_1": 1.0, "end_2": 0.5}
    assert view.largest == {"start_1": 0.75, "start_2": 0.375, "end_1": 1.0, "end_2": 0.5}


def test_the_weights_of_a_phrase_are_those_of_its_start_and_its_end(index: Index) -> None:
    selection = passage_view(index, EIGER, phrase="Charles Barrington").selection
    assert selection is not None
    assert selection.indexed
    assert (selection.first, selection.last, selection.text) == (8, 9, "Charles Barrington")
    # `by` is one token before Charles and two before Barrington.
    assert (row(selection.ngrams, "by").start, row(selection.ngrams, "by").end) == (0.75, 0.5)
    assert row(selection.ngrams, "in 1858").start == 1 / 8  # three tokens away, half
    assert selection.weights["start_1"][7] == 0.75
    assert [own.weight for own in selection.ngrams] == sorted((own.weight for own in selection.ngrams), reverse=True)


def test_all_ways_to_name_a_phrase_lead_to_it(index: Index) -> None:
    text = passage_view(index, EIGER).passage.text
    at = text.index("1858")
    by_phrase = passage_view(index, EIGER, phrase="1858").selection
    assert by_phrase == passage_view(index, EIGER, token=6).selection
    assert by_phrase == passage_view(index, EIGER, span=(at + 1, at + 2)).selection
    assert passage_view(index, EIGER, phrase="THE EIGER").selection == passage_view(index, EIGER, span=(0, 9)).selection


def test_the_table_of_a_passage_holds_its_features(index: Index, toy_encoder: Encoder) -> None:
    with index.engine.view() as view:
        stored = view.fetch([EIGER]).passages[0]
    features = toy_encoder.encode_passages([stored.passage])[0].features
    rows = passage_view(index, EIGER).ngrams
    for side in ("start", "end"):
        assert {own.name: float(round_up_9bits(getattr(own, side))) for own in rows if getattr(own, side)} == features[
            side
        ]


def test_tfidf_stands_beside(index: Index) -> None:
    view = passage_view(index, EIGER)
    eiger = next(term for term in view.tfidf if term.name == "eiger")
    assert (eiger.passages, eiger.positions) == (1, (1,))
    assert eiger.weight == eiger.impact * eiger.idf
    assert row(view.ngrams, "eiger").tfidf == eiger.weight == view.tokens[1].tfidf
    assert row(view.ngrams, "the eiger").tfidf is None
    assert "alps" in [term.name for term in view.tfidf]  # the title counts
    assert view.tokens[-1].tfidf == 0  # a full stop does not


def test_what_the_filter_left_out_is_encoded_on_the_spot(index: Index) -> None:
    selection = passage_view(index, EIGER, token=10).selection  # the full stop
    assert selection is not None
    assert selection.text == "."
    assert not selection.indexed
    assert [boundary.indexed for boundary in selection.boundaries] == [False, False]
    assert "encoded just now" in selection.boundaries[0].note
    assert row(selection.ngrams, "barrington").start == 0.75


def test_half_a_word_is_the_word(make: Any, toy_encoder: Encoder) -> None:
    index = make(*encode_all([plain("d", "People like climbing mountains")], toy_encoder))
    for token in (2, 3):
        selection = passage_view(index, "d/0", token=token).selection
        assert selection is not None
        assert (selection.text, selection.first, selection.last) == ("climbing", 2, 3)
        assert selection.indexed


def test_of_several_places_the_indexed_one(make: Any, toy_encoder: Encoder) -> None:
    document = encode_all([plain("d", "one two one two")], toy_encoder)[0]
    passage = document.passages[0]
    block = replace(passage.block, start=without(passage.block.start, 0))
    index = make(replace(document, passages=(replace(passage, block=block),)))
    selection = passage_view(index, "d/0", phrase="one two").selection
    assert selection is not None
    assert (selection.first, selection.indexed) == (2, True)
    assert passage_view(index, "d/0", token=0).selection.indexed is False  # type: ignore[union-attr]


def test_side_size_and_threshold(index: Index) -> None:
    def names(**choice: Any) -> set[tuple[int, bool, bool]]:
        found = passage_view(index, EIGER, phrase="1858", **choice)
        assert found.selection is not None
        return {(own.n, own.start > 0, own.end > 0) for rows in (found.ngrams, found.selection.ngrams) for own in rows}

    assert names(sides=("start",), sizes=(1,)) == {(1, True, False)}
    assert {n for n, _, _ in names(sizes=(2,))} == {2}
    view = passage_view(index, EIGER, threshold=0.9)
    assert view.ngrams
    assert all(max(own.start, own.end) >= 0.9 for own in view.ngrams)


def test_title_tokens_weigh_but_are_no_phrase(make: Any, toy_encoder: Encoder) -> None:
    view = titled(make, toy_encoder)
    assert [token.title for token in view.tokens] == [True, False, False, False]
    assert view.tokens[0].text == "alps"
    assert view.tokens[0].weights["start_1"] == 0.75
    assert (view.tokens[0].start, view.tokens[0].end) == (0, 0)
    assert row(view.ngrams, "alps").positions == (0,)
    assert view.selection is not None
    assert not view.selection.indexed
    assert view.selection.text == "alps"
    assert view.selection.ngrams == ()
    assert "title" in view.selection.boundaries[0].note


def titled(make: Any, encoder: Encoder) -> PassageView:
    """A passage whose title was read before it, the title selected."""
    document = encode_all([plain("d", "snow and ice")], encoder)[0]
    return passage_view(make(with_title(document, encoder)), "d/0", token=0)


def with_title(document: EncodedDocument, encoder: Encoder) -> EncodedDocument:
    """As if the title `alps` had been read: the passage `alps snow and ice`, its first token moved to the title."""
    whole = encode_all([plain("d", "alps snow and ice")], encoder)[0].passages[0]
    offsets = np.maximum(whole.block.offsets - len("alps "), 0)
    flags = whole.block.flags.copy()
    flags[0] |= TITLE
    sides = {"start": without(whole.block.start, 0), "end": without(whole.block.end, 0)}
    block = replace(whole.block, offsets=offsets, flags=flags, **sides)  # type: ignore[arg-type]
    return replace(document, passages=(EncodedPassage(document.passages[0].passage, block, whole.features),))


def without(phrases: Phrases, row: int) -> Phrases:
    """One kept boundary less."""
    kept = np.arange(len(phrases.positions)) != row
    return Phrases(
        phrases.positions[kept],
        phrases.vectors[kept],
        phrases.vector_scales[kept],
        phrases.spans[kept],
        phrases.span_scales[kept],
        tuple(_without(columns, row) for columns in phrases.sparse),
    )


def _without(columns: SparseColumns, row: int) -> SparseColumns:
    kept = columns.rows != row
    before = np.append(0, np.cumsum(kept))
    rows = columns.rows[kept]
    return SparseColumns(
        columns.n,
        before[columns.indptr].astype(np.int32),
        (rows - (rows > row)).astype(np.uint16),
        columns.values[kept],
        columns.scale,
    )


def test_a_passage_by_its_document(index: Index) -> None:
    assert passage_view(index, "alps").passage.id == "alps/0"
    assert passage_view(index, "alps#1").passage.id == "alps/1"
    for name in ("alps#7", "nosuch", "#", "alps#x", "\ud800", "", "alps#" + "9" * 40):
        with pytest.raises(NotThere, match="no passage"):
            passage_view(index, name)


def test_what_is_not_there(index: Index) -> None:
    with pytest.raises(NotThere, match="no token 99"):
        passage_view(index, EIGER, token=99)
    with pytest.raises(NotThere, match="does not stand in the passage"):
        passage_view(index, EIGER, phrase="K2")
    with pytest.raises(NotThere, match="no token stands"):
        passage_view(index, EIGER, span=(3, 4))
    with pytest.raises(UsageError, match="exclude each other"):
        passage_view(index, EIGER, token=1, phrase="Eiger")


def test_an_encoder_that_cannot_be_looked_into_says_so(index: Index) -> None:
    class Closed(Encoder):
        fingerprint = "toy-1"
        token_offsets = encode_passages = encode_questions = Encoder.prepare  # type: ignore[assignment]

    index.encoder = Closed()
    with pytest.raises(UsageError, match="cannot be looked into"):
        passage_view(index, EIGER)


def test_its_json_twin(index: Index) -> None:
    twin = to_json(passage_view(index, EIGER, phrase="1858"))
    assert json.loads(json.dumps(twin, allow_nan=False)) == twin
    assert twin["selection"]["boundaries"][0] == {
        "side": "start",
        "token": 6,
        "indexed": True,
        "note": "stored in the index",
    }
