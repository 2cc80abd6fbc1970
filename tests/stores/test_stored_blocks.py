"""Compiled code finds what numpy finds, to the last bit, and reads nothing that is not there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_blocks import blocks, coarse, generators, random_block, random_question

from sparc_search import records
from sparc_search.block_batch import batch_of
from sparc_search.errors import IndexDamaged
from sparc_search.records import TITLE, EncodedQuestion, PhraseBlock, WeightedNgram
from sparc_search.search.choice import best_first, without_overlaps
from sparc_search.search.grid import VECTOR_BITS
from sparc_search.search.lexical import LexWeight
from sparc_search.search.ranking import phrase_query, ranked, ranked_by_blocks
from sparc_search.search.scorer import PhraseScores, ScoredSpan
from sparc_search.stores import stored_blocks
from sparc_search.stores.block_layout import HEAD, MAGIC, MATRIX
from sparc_search.stores.phrase_block import encode
from sparc_search.stores.stored_blocks import CompiledBlocks, blocks_of

pytestmark = pytest.mark.skipif(
    stored_blocks.compiled is None, reason="no compiled code: install again where there is a C compiler"
)


def weights(question: EncodedQuestion, rng: np.random.Generator) -> list[LexWeight]:
    return [LexWeight(term.id, term.name, float(rng.random())) for term in question.lex_terms]


def rows(spans: Iterator[ScoredSpan]) -> list[tuple[object, ...]]:
    return [(*span[:4], *(part.value for part in span.parts)) for span in spans]


def assert_the_same(
    many: Sequence[PhraseBlock],
    question: EncodedQuestion,
    lex: Sequence[LexWeight],
    at_once: int = 7,
) -> list[tuple[object, ...]]:
    stored = CompiledBlocks([encode(block) for block in many])
    found = rows(ranked_by_blocks(phrase_query(question, lex), stored, at_once))
    assert found == rows(without_overlaps(best_first(PhraseScores(question, lex, batch_of(many)))))
    for number, block in enumerate(many):
        assert np.array_equal(stored.offsets(number), block.offsets)
    return found


@settings(max_examples=100)
@given(
    st.lists(blocks(max_tokens=24), min_size=1, max_size=5),
    generators(),
    st.booleans(),
    st.sampled_from([1, 7, 5_000]),
    st.sampled_from([1, 2, 3, 20, 100]),
)
def test_the_same_spans_and_parts_as_numpy(
    many: list[PhraseBlock], rng: np.random.Generator, few_bits: bool, at_once: int, longest: int
) -> None:
    question = random_question(rng, longest_answer=longest)
    many = [coarse(block) for block in many] if few_bits else many
    assert_the_same(many, question, weights(question, rng), at_once)


def test_blocks_packed_in_different_ways() -> None:
    rng = np.random.default_rng(1)
    wide = random_block(rng, 20)
    shift = 70_000
    wide = dataclasses.replace(wide, token_ids=wide.token_ids + shift, lex_ids=wide.lex_ids + shift)
    question = random_question(rng)
    shifted = tuple(
        WeightedNgram(tuple(id + shift for id in ngram.ids), ngram.name, ngram.weight)
        for ngram in question.start_ngrams
    )
    question = dataclasses.replace(question, start_ngrams=(*question.start_ngrams, *shifted))
    lex = [*weights(question, rng), LexWeight(shift + 3, "far", 0.7)]
    many = [random_block(rng, 30), wide, random_block(rng, 0), random_block(rng, 300)]
    assert len(assert_the_same(many, question, lex, 100)) > 50


def test_long_vectors() -> None:
    rng = np.random.default_rng(2)
    block, question = random_block(rng, 30), random_question(rng)

    def wide(rows: int, width: int) -> np.ndarray:
        return rng.integers(-128, 128, (rows, width)).astype(np.int8)

    block = dataclasses.replace(
        block,
        start=dataclasses.replace(block.start, vectors=wide(len(block.start.positions), 1_300)),
        end=dataclasses.replace(block.end, vectors=wide(len(block.end.positions), 1_300)),
        passage_vector=np.full(2_000, -128, np.int8),
    )
    question = dataclasses.replace(
        question,
        start_vector=rng.normal(size=1_300).astype(np.float32),
        end_vector=np.full(1_300, 1 - 2**-20, np.float32),
        passage_vector=np.full(2_000, -1, np.float32),
    )
    assert assert_the_same([block], question, [])


def test_a_title_in_front_takes_no_part_in_spans() -> None:
    rng = np.random.default_rng(2)
    block = random_block(rng, 30)
    flags, offsets = block.flags.copy(), block.offsets.copy()
    flags[:4], offsets[:4] = TITLE, 0
    assert_the_same([dataclasses.replace(block, flags=flags, offsets=offsets)], random_question(rng), [])


@example(random_block(np.random.default_rng(3), 40), 11, 255, np.random.default_rng(4))
@settings(max_examples=300)
@given(blocks(), st.integers(0, 1 << 16), st.integers(1, 255), generators())
def test_a_changed_byte_is_an_error_or_another_score(
    block: PhraseBlock, place: int, flip: int, rng: np.random.Generator
) -> None:
    """Without the checksum most changes cannot be seen; none of them may be read as more than there is."""
    changed = bytearray(encode(block))
    changed[place % len(changed)] ^= flip
    with suppress(IndexDamaged):
        list(ranked_by_blocks(phrase_query(random_question(rng), []), CompiledBlocks([bytes(changed)]), 7))


@settings(max_examples=40)
@given(blocks(), st.data())
def test_missing_bytes_are_a_clear_error(block: PhraseBlock, data: st.DataObject) -> None:
    stored = encode(block)
    query = phrase_query(random_question(np.random.default_rng(0)), [])
    for damaged in (stored[: data.draw(st.integers(0, len(stored) - 1))], stored + b"\0"):
        with pytest.raises(IndexDamaged, match="phrase block"):
            CompiledBlocks([stored, damaged]).best_spans(query, 5)


def test_a_question_of_another_model_is_an_error() -> None:
    rng = np.random.default_rng(6)
    question = dataclasses.replace(random_question(rng), start_vector=np.ones(3, np.float32))
    with pytest.raises(IndexDamaged, match="another shape"):
        CompiledBlocks([encode(random_block(rng, 9))]).best_spans(phrase_query(question, []), 5)


def test_the_compiled_code_has_the_layout_of_the_python_code() -> None:
    from sparc_search.stores import _best_spans as code

    for prefix, layout in (("HEAD", HEAD), ("MATRIX", MATRIX)):
        fields = {name: offset for name, (_, offset, *_) in (layout.fields or {}).items()}
        told = {name.removeprefix(f"{prefix}_"): at for name, at in vars(code).items() if name.startswith(prefix)}
        assert told == {**fields, "BYTES": layout.itemsize}
    for name, value in {
        "MAGIC": MAGIC,
        "CONTINUES": records.CONTINUES,
        "PUNCTUATION": records.PUNCTUATION,
        "AFTER_JOINT": records.AFTER_JOINT,
        "TITLE": records.TITLE,
        "PARTS": len(records.PART_KINDS) + 1,
        "VECTOR_BITS": VECTOR_BITS,
    }.items():
        assert getattr(code, name) == value


def test_without_a_compiler_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    data, question = [encode(random_block(rng, 25)) for _ in range(3)], random_question(rng)
    lex = weights(question, rng)
    by_compiled_code = blocks_of(data)
    assert isinstance(by_compiled_code, CompiledBlocks)
    wanted = rows(ranked(question, lex, by_compiled_code, 7))
    monkeypatch.setattr(stored_blocks, "compiled", None)
    by_numpy = blocks_of(data)
    assert not isinstance(by_numpy, CompiledBlocks)
    assert rows(ranked(question, lex, by_numpy, 7)) == wanted
