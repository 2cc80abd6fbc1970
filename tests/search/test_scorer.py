from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_blocks import blocks, generators, random_block, random_question

from sparc_search.records import AFTER_JOINT, CONTINUES, PUNCTUATION, EncodedQuestion, PhraseBlock, Phrases
from sparc_search.search.lexical import LexWeight
from sparc_search.search.scorer import score_spans

Lex = list[LexWeight]


def by_loops(question: EncodedQuestion, lex: Lex, block: PhraseBlock, longest: int) -> dict[tuple[int, int], float]:
    """The definition, written out: slow, and as plain as it can be."""
    spans = {}
    for row, i in enumerate(block.start.positions.tolist()):
        for column, j in enumerate(block.end.positions.tolist()):
            if legal(block, i, j, longest):
                spans[i, j] = (
                    dot(block.start.vectors[row], question.start_vector) * float(block.start.vector_scales[row])
                    + dot(block.end.vectors[column], question.end_vector) * float(block.end.vector_scales[column])
                    + dot(block.start.spans[row], block.end.spans[column])
                    * float(block.start.span_scales[row]) * float(block.end.span_scales[column])
                    + dot(block.passage_vector, question.passage_vector) * block.passage_scale
                    + sparse(block, block.start, row, question.start_ngrams)
                    + sparse(block, block.end, column, question.end_ngrams)
                    + lexical(block, lex)
                )  # fmt: skip
    return spans


def legal(block: PhraseBlock, i: int, j: int, longest: int) -> bool:
    if not i <= j < i + longest:
        return False
    flags = block.flags.tolist()
    whole = not flags[i] & CONTINUES and (j + 1 == len(flags) or not flags[j + 1] & CONTINUES)
    crosses = any(flag & AFTER_JOINT for flag in flags[i + 1 : j + 1])
    words = any(not flag & PUNCTUATION for flag in flags[i : j + 1])
    return whole and words and not crosses


def dot(left: Any, right: Any) -> float:
    return sum(float(a) * float(b) for a, b in zip(left, right, strict=True))


def sparse(block: PhraseBlock, side: Phrases, row: int, ngrams: Any) -> float:
    total = 0.0
    for columns in side.sparse:
        for j in range(len(block.token_ids) - columns.n + 1):
            here = tuple(block.token_ids[j : j + columns.n].tolist())
            for entry in range(columns.indptr[j], columns.indptr[j + 1]):
                if columns.rows[entry] == row:
                    total += (
                        sum(g.weight for g in ngrams if g.ids == here) * float(columns.values[entry]) * columns.scale
                    )
    return total


def lexical(block: PhraseBlock, lex: Lex) -> float:
    impacts = dict(zip(block.lex_ids.tolist(), block.lex_impacts.tolist(), strict=True))
    return sum(term.weight * impacts.get(term.id, 0.0) for term in lex)


def drawn_lex(question: EncodedQuestion, rng: np.random.Generator) -> Lex:
    return [LexWeight(term.id, term.name, float(rng.random() * 5)) for term in question.lex_terms]


@settings(max_examples=40)
@given(st.lists(blocks(max_tokens=24), max_size=3), generators(), st.integers(1, 20))
def test_equals_the_definition(many: list[PhraseBlock], rng: np.random.Generator, longest: int) -> None:
    question = random_question(rng, longest_answer=longest)
    lex = drawn_lex(question, rng)
    spans = score_spans(question, lex, many)
    found = {
        (int(b), int(i), int(j)): float(s)
        for b, i, j, s in zip(spans.block, spans.start, spans.end, spans.score, strict=True)
    }
    expected = {
        (number, i, j): score
        for number, block in enumerate(many)
        for (i, j), score in by_loops(question, lex, block, longest).items()
    }
    assert list(found) == sorted(found)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-6)


@settings(max_examples=40)
@given(st.lists(blocks(), min_size=1, max_size=5), generators())
def test_company_changes_no_bit(many: list[PhraseBlock], rng: np.random.Generator) -> None:
    question = random_question(rng)
    lex = drawn_lex(question, rng)
    together = score_spans(question, lex, many)
    for number, block in enumerate(many):
        alone = score_spans(question, lex, [block])
        mine = together.block == number
        assert np.array_equal(together.score[mine], alone.score)
        assert np.array_equal(together.start[mine], alone.start)


@settings(max_examples=40)
@given(st.lists(blocks(), min_size=1, max_size=3), generators())
def test_the_parts_sum_to_the_score(many: list[PhraseBlock], rng: np.random.Generator) -> None:
    question = random_question(rng)
    spans = score_spans(question, drawn_lex(question, rng), many)
    for number in range(min(len(spans), 20)):
        assert sum(part.value for part in spans.parts(number)) == pytest.approx(
            spans.score[number], abs=1e-9, rel=1e-12
        )


def test_no_blocks_no_spans() -> None:
    assert len(score_spans(random_question(np.random.default_rng(0)), [], [])) == 0


def test_a_block_without_tokens() -> None:
    rng = np.random.default_rng(0)
    empty = random_block(rng, 0)
    assert len(score_spans(random_question(rng), [], [empty, empty])) == 0
    filled = random_block(rng, 9)
    spans = score_spans(random_question(rng), [], [empty, filled, empty])
    assert set(spans.block.tolist()) == {1}
