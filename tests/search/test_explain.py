from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from random_blocks import blocks, generators, random_question

from sparc_search.records import PhraseBlock
from sparc_search.search.explain import explain
from sparc_search.search.lexical import LexWeight
from sparc_search.search.scorer import score_spans


@settings(max_examples=60)
@given(blocks(), generators())
def test_every_part_is_a_product_and_they_sum_to_the_score(block: PhraseBlock, rng: np.random.Generator) -> None:
    question = random_question(rng)
    lex = [LexWeight(term.id, term.name, float(rng.random())) for term in question.lex_terms]
    spans = score_spans(question, lex, [block])
    for number in range(0, len(spans), max(1, len(spans) // 10)):
        summary = spans.parts(number)
        parts = explain(summary, question, lex, block, int(spans.start[number]), int(spans.end[number]))
        assert sum(part.value for part in parts) == pytest.approx(spans.score[number], rel=1e-12, abs=1e-9)
        for kind in ("sparse start", "sparse end", "lex"):
            whole = next(part.value for part in summary if part.kind == kind)
            taken_apart = [part for part in parts if part.kind == kind]
            assert sum(part.value for part in taken_apart) == pytest.approx(whole, rel=1e-12, abs=1e-9)
            assert taken_apart == sorted(taken_apart, key=lambda part: (-part.value, part.name))
            for part in taken_apart:
                assert part.question_weight is not None
                assert part.passage_weight is not None
                assert part.value == part.question_weight * part.passage_weight
                assert part.value > 0
                assert part.name


def test_the_four_others_stay_whole() -> None:
    rng = np.random.default_rng(3)
    from random_blocks import random_block

    block, question = random_block(rng, 20), random_question(rng)
    spans = score_spans(question, [], [block])
    parts = explain(spans.parts(0), question, [], block, int(spans.start[0]), int(spans.end[0]))
    assert [part.kind for part in parts[:4]] == ["dense start", "dense end", "span", "passage"]
