from __future__ import annotations

import numpy as np
from hypothesis import given
from numpy.random import Generator
from random_blocks import blocks, generators, random_block, random_question

from sparc_search.inspection import weights
from sparc_search.records import PhraseBlock, SparseColumns
from sparc_search.search.explain import explain
from sparc_search.search.scorer import score_spans


def dense(columns: SparseColumns, kept: int) -> np.ndarray:
    """(kept, tokens), the plain way."""
    matrix = np.zeros((kept, len(columns.indptr) - 1))
    for column in range(matrix.shape[1]):
        for entry in range(columns.indptr[column], columns.indptr[column + 1]):
            matrix[columns.rows[entry], column] = columns.values[entry] * columns.scale
    return matrix


@given(blocks())
def test_rows_and_largest_are_those_of_the_matrix(block: PhraseBlock) -> None:
    for side, columns in weights.matrices(block):
        kept = len(weights.phrases_of(block, side).positions)
        matrix = dense(columns, kept)
        np.testing.assert_allclose(weights.largest(columns), matrix.max(axis=0, initial=0.0))
        for row in range(kept):
            np.testing.assert_allclose(weights.of_row(columns, row), matrix[row])


@given(blocks())
def test_the_bound_of_an_ngram_is_the_largest_sum_of_a_row(block: PhraseBlock) -> None:
    for side, columns in weights.matrices(block):
        kept = len(weights.phrases_of(block, side).positions)
        found = weights.bounds(block, kept, columns)
        by_row = [weights.by_ngram(block, columns.n, weights.of_row(columns, row)) for row in range(kept)]
        assert set(found) == {ids for own in by_row for ids in own}
        for ids, bound in found.items():
            assert np.isclose(bound, max(own.get(ids, 0.0) for own in by_row))


@given(generators())
def test_what_is_shown_is_what_is_scored(rng: Generator) -> None:
    """The weights of a phrase are the passage's side of every n-gram in an explained answer."""
    block, question = random_block(rng, 30), random_question(rng)
    spans = score_spans(question, [], [block])
    if not len(spans):
        return
    number = int(np.argmax(spans.score))
    start, end = int(spans.start[number]), int(spans.end[number])
    for side, token in (("start", start), ("end", end)):
        phrases = weights.phrases_of(block, side)  # type: ignore[arg-type]
        row = int(np.searchsorted(phrases.positions, token))
        shown: dict[tuple[int, ...], float] = {}
        for columns in phrases.sparse:
            shown |= weights.by_ngram(block, columns.n, weights.of_row(columns, row))
        parts = explain(spans.parts(number), question, [], block, start, end)
        names = {ngram.name: ngram.ids for ngram in (*question.start_ngrams, *question.end_ngrams)}
        for part in parts:
            if part.kind == f"sparse {side}":
                assert part.passage_weight is not None
                assert np.isclose(shown[names[part.name]], part.passage_weight)


def test_positions_of_an_ngram() -> None:
    block = random_block(np.random.default_rng(1), 20, vocabulary=3)
    for at in range(19):
        assert at in weights.positions(block, tuple(block.token_ids[at : at + 2].tolist()))
    assert weights.positions(block, (99,)) == ()
