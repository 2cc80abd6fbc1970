"""The toy encoder gives the numbers that its description says, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sparc_search.encoder import Encoder
from sparc_search.records import AFTER_JOINT, CONTINUES, PUNCTUATION, Border, EncodedPassage, Passage


def passage(text: str, title: str = "", joints: tuple[int, ...] = ()) -> Passage:
    return Passage("p", "d", 0, text, title=title, borders=tuple(map(Border, joints)))


@pytest.fixture
def encoded(toy_encoder: Encoder) -> EncodedPassage:
    # tokens:  0 the  1 dome  2 was  3 climb  4 ##ing  5 in  6 1923  7 .
    return toy_encoder.encode_passages([passage("The Dome was climbing in 1923.", title="Dome")])[0]


def test_tokens_and_flags(encoded: EncodedPassage) -> None:
    text = encoded.passage.text
    assert [text[a:b] for a, b in encoded.block.offsets] == ["The", "Dome", "was", "climb", "ing", "in", "1923", "."]
    assert encoded.block.flags.tolist() == [0, 0, 0, 0, CONTINUES, 0, 0, PUNCTUATION]
    assert len(set(encoded.block.token_ids.tolist())) == 8


def test_kept_positions_and_vectors(encoded: EncodedPassage) -> None:
    start, end = encoded.block.start, encoded.block.end
    assert start.positions.tolist() == [0, 1, 2, 3, 5, 6]
    assert end.positions.tolist() == [0, 1, 2, 4, 5, 6]
    vectors = start.vectors * start.vector_scales[:, None]
    assert vectors.tolist() == [[0, 1], [0, 1], [0, 0], [0, 0], [0, 0], [1, 0]]


def test_sparse_columns(encoded: EncodedPassage) -> None:
    unigrams = encoded.block.start.sparse[0]
    entries = slice(unigrams.indptr[6], unigrams.indptr[7])  # the column of `1923`
    positions = encoded.block.start.positions[unigrams.rows[entries]]
    weights = unigrams.values[entries] * unigrams.scale
    assert dict(zip(positions.tolist(), weights.tolist(), strict=True)) == {3: 0.25, 5: 0.75}


def test_features_are_the_largest_sums(encoded: EncodedPassage) -> None:
    assert encoded.features["start"]["dome"] == 0.75  # beside `the` and `was`
    assert encoded.features["start"]["climb"] == 0.75
    assert encoded.features["start"]["dome was"] == 0.375
    assert encoded.features["end"]["dome"] == 1.0
    assert encoded.features["lex"] == {
        **dict.fromkeys(["the", "was", "climb", "##ing", "in", "1923", "%2E"], 1.0),
        "dome": 1.3359375,  # twice, with the title: 4/3, rounded up to 9 bits
    }


def test_an_ngram_at_several_positions_is_summed(toy_encoder: Encoder) -> None:
    (encoded,) = toy_encoder.encode_passages([passage("dome a dome")])
    assert encoded.features["start"]["dome"] == 1.5


def test_joints(toy_encoder: Encoder) -> None:
    (encoded,) = toy_encoder.encode_passages([passage("One two\nthree", joints=(8,))])
    assert encoded.block.flags.tolist() == [0, 0, AFTER_JOINT]


def test_question(toy_encoder: Encoder) -> None:
    (question,) = toy_encoder.encode_questions(["When was the gold dome built?"])
    assert question.start_vector.tolist() == [1, 0]
    assert {ngram.name: ngram.weight for ngram in question.start_ngrams} == {
        **dict.fromkeys(["gold", "dome", "built"], 1.0),
        **dict.fromkeys(["gold dome", "dome built"], 0.5),
    }
    assert {term.name: term.count for term in question.lex_terms} == dict.fromkeys(
        ["when", "was", "the", "gold", "dome", "built", "?"], 1
    )
    # when, was: u-z · the: n-t · gold: g-m · dome, built: a-f, over the root of 2² + 1 + 1 + 2² and times 2
    assert question.passage_vector.tolist() == pytest.approx(list(np.array([2, 1, 1, 2]) * 2 / 10**0.5))


@pytest.mark.parametrize("text", ["", "  ", ".", "…!?"])
def test_nothing_to_say(toy_encoder: Encoder, text: str) -> None:
    (encoded,) = toy_encoder.encode_passages([passage(text)])
    (question,) = toy_encoder.encode_questions([text])
    assert encoded.features["start"] == encoded.features["end"] == {}
    assert question.start_ngrams == ()
    assert encoded.block.offsets.shape == (len(text.strip()), 2)


def test_a_passage_never_depends_on_the_others(toy_encoder: Encoder) -> None:
    one, other = passage("The gold dome."), passage("A river in 1850.")
    together = toy_encoder.encode_passages([one, other])
    alone = [*toy_encoder.encode_passages([one]), *toy_encoder.encode_passages([other])]
    assert [e.features for e in together] == [e.features for e in alone]
