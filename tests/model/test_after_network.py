"""From network arrays to stored blocks: bounds are bounds, rounding errs little, answers are whole words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from tiny_pieces import LOWEST, random_ids, tiny_config, tiny_pieces

from sparc_search.model.after_network import (
    AfterNetwork,
    PassageArrays,
    QuestionArrays,
    lexical_impacts,
    may_be,
    ngram_bounds,
    quantised,
    shown,
    sparse_columns,
    with_joints,
)
from sparc_search.model.code_tokens import boundary_rows
from sparc_search.model.config import SparcConfig
from sparc_search.model.tokenizer import Pieces
from sparc_search.ngrams import feature_name, parse_feature, round_up_9bits
from sparc_search.records import (
    AFTER_JOINT,
    CONTINUES,
    PUNCTUATION,
    SIDES,
    TITLE,
    AlignedPiece,
    EncodedPassage,
    Passage,
    Phrases,
    Side,
)

WORD_PIECES = tiny_pieces()
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def random_pieces(rng: Generator, tokens: int) -> Pieces:
    ends = np.cumsum(rng.integers(1, 5, tokens))
    offsets = np.stack([ends - 1, ends], axis=1).astype(np.int32)
    flags = (CONTINUES * (rng.random(tokens) < 0.2) | PUNCTUATION * (rng.random(tokens) < 0.2)).astype(np.uint8)
    return Pieces(random_ids(rng, tokens, 6), offsets, flags)


def random_arrays(rng: Generator, pieces: Pieces, config: SparcConfig) -> PassageArrays:
    """What a network could say: attention that is never negative, and none where no whole n-gram starts."""
    tokens = len(pieces.ids)

    def matrix(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape).astype(np.float32)

    attention = {}
    for name in [f"{side}_{n}" for side in SIDES for n in config.ngrams]:
        values = np.maximum(matrix(tokens, tokens), 0) * np.float32(10.0 ** rng.integers(-3, 3))
        values[:, max(0, tokens - int(name[-1]) + 1) :] = 0
        attention[name] = values
    tokenwise = (matrix(tokens, size) for size in (8, 8, 4, 4))
    return PassageArrays(*tokenwise, matrix(32), matrix(tokens, 2), attention)


def encode(rng: Generator, tokens: int, config: SparcConfig) -> tuple[EncodedPassage, PassageArrays, Pieces]:
    pieces = random_pieces(rng, tokens)
    arrays = random_arrays(rng, pieces, config)
    passage = Passage("p", "d", 0, "x" * 200)
    return AfterNetwork(config, WORD_PIECES).passage(passage, pieces, random_pieces(rng, 0), arrays), arrays, pieces


def slow_weights(ids: NDArray[np.int32], phrases: Phrases) -> list[dict[tuple[int, ...], float]]:
    """The n-gram vector of each kept boundary, from the stored columns, one entry after the other."""
    vectors: list[dict[tuple[int, ...], float]] = [{} for _ in phrases.positions]
    for columns in phrases.sparse:
        for position in range(len(ids)):
            for entry in range(columns.indptr[position], columns.indptr[position + 1]):
                ngram = tuple(ids[position : position + columns.n].tolist())
                vector = vectors[columns.rows[entry]]
                vector[ngram] = vector.get(ngram, 0.0) + float(columns.values[entry]) * columns.scale
    return vectors


@given(generators, st.integers(0, 25), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([(1,), (1, 2), (1, 2, 3)]))
def test_features_bound_every_kept_phrase(rng: Generator, tokens: int, prune: float, ngrams: tuple[int, ...]) -> None:
    config = tiny_config(ngrams=ngrams, prune=prune, filter_thresholds=(-0.5, -0.5))
    encoded, _, _ = encode(rng, tokens, config)
    block = encoded.block
    for side, phrases in zip(SIDES, (block.start, block.end), strict=True):
        vectors = slow_weights(block.token_ids, phrases)
        features = encoded.features[side]
        known = {ngram for vector in vectors for ngram in vector}
        names = {ngram: feature_name([WORD_PIECES.piece(token) for token in ngram]) for ngram in known}
        assert set(names.values()) == set(features)
        for ngram in known:  # not below any boundary's weight, and above the largest by rounding only
            largest = max(vector.get(ngram, 0.0) for vector in vectors)
            assert largest * (1 - 1e-12) <= features[names[ngram]] <= largest * (1 + 2**-8)
        question = {ngram: float(rng.random() * 10) for ngram in known if rng.random() < 0.5}
        bound = sum(weight * features[names[ngram]] for ngram, weight in question.items())
        for vector in vectors:
            score = sum(weight * vector.get(ngram, 0.0) for ngram, weight in question.items())
            assert score <= bound * (1 + 1e-12)


@given(generators, st.integers(0, 25), st.sampled_from([0.0, 0.1, 0.5]))
def test_what_is_stored_is_near_what_the_network_said(rng: Generator, tokens: int, prune: float) -> None:
    config = tiny_config(prune=prune, filter_thresholds=(-0.5, 0.0), weight_levels=255)
    encoded, arrays, pieces = encode(rng, tokens, config)
    block = encoded.block
    sides: tuple[tuple[Side, Phrases, NDArray[np.float32], NDArray[np.float32]], ...] = (
        ("start", block.start, arrays.start, arrays.span_start),
        ("end", block.end, arrays.end, arrays.span_end),
    )
    for side, phrases, vectors, spans in sides:
        kept = boundary_rows(side, pieces.flags)[phrases.positions]
        for stored, scales, exact in (
            (phrases.vectors, phrases.vector_scales, vectors),
            (phrases.spans, phrases.span_scales, spans),
        ):
            assert np.all(np.abs(stored * scales[:, None] - exact[kept]) <= scales[:, None] * 0.501)
        for columns in phrases.sparse:
            exact_attention = arrays.attention[f"{side}_{columns.n}"][kept]
            dense = np.zeros_like(exact_attention)
            for position in range(tokens):
                entries = slice(columns.indptr[position], columns.indptr[position + 1])
                dense[columns.rows[entries], position] = columns.values[entries] * columns.scale
            largest = exact_attention.max(initial=0)
            dropped = exact_attention < prune * largest
            assert np.all(dense[dropped] == 0)
            assert np.all(np.abs(dense - exact_attention)[~dropped] <= columns.scale * 0.501)
    assert np.abs(block.passage_vector * block.passage_scale - arrays.pooled).max() <= block.passage_scale * 0.501
    assert np.array_equal(block.token_ids, pieces.ids)
    assert np.array_equal(block.offsets, pieces.offsets)


@given(generators, st.integers(0, 25), st.floats(-3, 3), st.floats(-3, 3))
def test_kept_are_whole_words_that_pass_the_filter(rng: Generator, tokens: int, start: float, end: float) -> None:
    encoded, arrays, pieces = encode(rng, tokens, tiny_config(filter_thresholds=(start, end)))
    goes_on = [bool(flag & CONTINUES) for flag in pieces.flags] + [False]
    first, last = (arrays.filter[boundary_rows(side, pieces.flags), column] for column, side in enumerate(SIDES))
    starts = [at for at in range(tokens) if not goes_on[at] and first[at] >= start]
    ends = [at for at in range(tokens) if not goes_on[at + 1] and last[at] >= end]
    assert encoded.block.start.positions.tolist() == starts
    assert encoded.block.end.positions.tolist() == ends


@given(
    st.lists(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=3, max_size=3), max_size=6),
    st.sampled_from([4, 8]),
)
def test_quantising_errs_by_half_a_step_whatever_the_size(rows: list[list[float]], bits: int) -> None:
    vectors = np.asarray(rows, np.float32).reshape(-1, 3)
    stored, scales = quantised(vectors, bits)
    assert np.all(np.isfinite(scales) & (scales > 0))
    assert np.abs(stored).max(initial=0) <= 2 ** (bits - 1) - 1
    assert np.array_equal(scales, round_up_9bits(scales))  # stored in two bytes
    errors = np.abs(stored * scales[:, None].astype(np.float64) - vectors)
    assert np.all(errors <= scales[:, None] * 0.501)


@pytest.mark.parametrize("size", [0.0, 1e-44, 1e-38, 1e-20, 1.0, 1e30])
def test_tiny_and_huge_attention_stays_finite(size: float) -> None:
    columns = sparse_columns(1, np.asarray([[0, 1], [0.5, 0]], np.float32) * np.float32(size), 0.1)
    assert np.isfinite(columns.scale)
    assert columns.values.tolist() in ([], [127, 255], [128, 255])
    assert bool(len(columns.values)) == (size >= 1e-20)
    bounds = ngram_bounds(np.asarray([LOWEST, LOWEST + 1], np.int32), 2, columns)
    assert [ngram for ngram, _ in bounds] == ([(LOWEST,), (LOWEST + 1,)] if size >= 1e-20 else [])


@given(generators, st.sampled_from([0.05, 0.1, 0.3]))
def test_sixteen_levels_err_by_their_ratio_and_keep_the_order(rng: Generator, prune: float) -> None:
    attention = np.maximum(rng.standard_normal((6, 9)), 0).astype(np.float32)
    fine, coarse = (sparse_columns(1, attention, prune, levels) for levels in (255, 16))
    assert np.array_equal(fine.rows, coarse.rows)
    assert np.array_equal(fine.indptr, coarse.indptr)
    assert len(np.unique(coarse.values)) <= 16
    assert np.all(np.diff(coarse.values[np.argsort(fine.values, kind="stable")].astype(int)) >= 0)
    ratio = (1 / prune) ** (1 / 15)
    assert np.all(np.abs(np.log(coarse.values / fine.values)) <= np.log(ratio) / 2 + 0.04)  # levels are whole numbers


def test_the_same_ngram_at_several_positions_is_summed() -> None:
    attention = np.asarray([[0.0, 0.4, 1.0], [0.2, 0.0, 0.6]], np.float32)
    columns = sparse_columns(1, attention, 0.0)
    bounds = dict(ngram_bounds(np.asarray([7, 8, 7], np.int32), 2, columns))
    assert bounds[(7,)] == pytest.approx(1.0, rel=2**-8)  # max(0 + 1.0, 0.2 + 0.6)
    assert bounds[(8,)] == pytest.approx(0.4, rel=2**-7)


def test_joints_mark_the_first_piece_behind_them() -> None:
    text = "the dome. a city"
    pieces = WORD_PIECES([text])[0]
    flags = with_joints(pieces, [text.index("a city")])
    assert [bool(flag & AFTER_JOINT) for flag in flags] == [False, False, False, True, False]
    assert not any(pieces.flags & AFTER_JOINT)  # what was given is not changed
    assert np.array_equal(with_joints(pieces, [len(text)]), pieces.flags)  # a joint behind the last piece
    assert bool(with_joints(pieces, [text.index(" a")])[3] & AFTER_JOINT)  # in the gap before the piece


def test_whole_words() -> None:
    flags = WORD_PIECES(["climbing the dome"])[0].flags  # climb ##ing the dome
    assert may_be("start", flags).tolist() == [True, False, True, True]
    assert may_be("end", flags).tolist() == [False, True, True, True]


def test_lexical_impacts_saturate_and_leave_punctuation_out() -> None:
    text, title = WORD_PIECES(["the dome, the dome, the city.", "dome"])
    ids, impacts = lexical_impacts(text, title)
    named = {WORD_PIECES.piece(token): float(impact) for token, impact in zip(ids, impacts, strict=True)}
    assert sorted(named) == ["city", "dome", "the"]
    norm = 0.9 * (0.6 + 0.4 * 7 / 150)
    assert named["dome"] == pytest.approx(3 * 1.9 / (3 + norm), rel=2**-7)  # twice in the text, once in the title
    assert named["city"] == pytest.approx(1.9 / (1 + norm), rel=2**-7)
    assert ids.tolist() == sorted(ids.tolist())
    assert named["city"] < named["dome"] < 1.9


def test_a_questions_ngrams_are_summed_and_never_zero() -> None:
    config = tiny_config()
    text = "dome dome city ?"
    pieces = WORD_PIECES([text])[0]
    zero = np.zeros(4, np.float32)
    weights = {
        "start_1": np.asarray([0.5, 0.25, 0.0, 0.0], np.float32),
        "start_2": np.asarray([0.0, 2.0, 0.0, 0.0], np.float32),
        "end_1": zero,
        "end_2": zero,
    }
    vector = np.zeros(8, np.float32)
    question = AfterNetwork(config, WORD_PIECES).question(text, pieces, QuestionArrays(vector, vector, vector, weights))
    assert {ngram.name: ngram.weight for ngram in question.start_ngrams} == {"dome": 0.75, "dome city": 2.0}
    assert question.end_ngrams == ()
    assert {term.name: term.count for term in question.lex_terms} == {"dome": 2, "city": 1}
    dome = question.start_ngrams[0]
    assert parse_feature(dome.name) == tuple(WORD_PIECES.piece(token) for token in dome.ids)


def test_what_was_put_in_for_the_model_is_no_answer_and_the_rest_is_shown_at_its_place() -> None:
    text, read = "Oslo | 12", "Oslo, beds: 12"
    alignment = (AlignedPiece(0, 4, 0, 4), AlignedPiece(4, 12, 4, 4), AlignedPiece(12, 14, 7, 9))
    pieces = WORD_PIECES([read])[0]
    offsets, flags = shown(pieces, alignment)
    answerable = [text[slice(*place)] for place, flag in zip(offsets.tolist(), flags, strict=True) if not flag & TITLE]
    assert "".join(answerable) == "Oslo12"
    assert sorted(offsets[:, 0].tolist()) == offsets[:, 0].tolist()
    assert shown(pieces, ()) == (pieces.offsets, pieces.flags)
