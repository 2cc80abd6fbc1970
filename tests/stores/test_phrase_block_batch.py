"""Blocks decoded together score what they score decoded one by one, to the last bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_blocks import blocks, coarse, generators, random_block, random_question

from sparc_search.block_batch import BlockBatch, batch_of
from sparc_search.errors import IndexDamaged
from sparc_search.records import TITLE, PhraseBlock
from sparc_search.search.lexical import LexWeight
from sparc_search.search.scorer import PhraseScores
from sparc_search.stores.block_layout import Column, column_ends, read_heads, read_matrices
from sparc_search.stores.phrase_block import encode
from sparc_search.stores.phrase_block_batch import decode_batch
from tools.block_sizes import bytes_by_part


def assert_same_scores(many: list[PhraseBlock], batch: BlockBatch, rng: np.random.Generator) -> None:
    question = random_question(rng)
    lex = [LexWeight(term.id, term.name, float(rng.random())) for term in question.lex_terms]
    plain, packed = (PhraseScores(question, lex, one).spans() for one in (batch_of(many), batch))
    for name in ("block", "start", "end", "score"):
        assert np.array_equal(getattr(plain, name), getattr(packed, name))
    for number, block in enumerate(many):
        assert np.array_equal(batch.offsets(number), block.offsets)


@settings(max_examples=40)
@given(st.lists(blocks(max_tokens=24), min_size=1, max_size=5), generators(), st.booleans())
def test_together_as_one_by_one(many: list[PhraseBlock], rng: np.random.Generator, few_bits: bool) -> None:
    many = [coarse(block) for block in many] if few_bits else many
    assert_same_scores(many, decode_batch([encode(block) for block in many]), rng)


def test_blocks_packed_in_different_ways() -> None:
    rng = np.random.default_rng(1)
    wide = random_block(rng, 20)
    wide = dataclasses.replace(wide, token_ids=wide.token_ids + 70_000)
    plain = random_block(rng, 30)
    few = coarse(plain)
    few = dataclasses.replace(
        few,
        start=dataclasses.replace(few.start, spans=plain.start.spans),
        end=dataclasses.replace(few.end, spans=plain.end.spans),
    )
    many = [plain, few, wide, random_block(rng, 0)]
    assert_same_scores(many, decode_batch([encode(block) for block in many]), rng)


def test_a_title_in_front_takes_no_part_in_spans() -> None:
    rng = np.random.default_rng(2)
    block = random_block(rng, 30)
    flags, offsets = block.flags.copy(), block.offsets.copy()
    flags[:4], offsets[:4] = TITLE, 0
    titled = dataclasses.replace(block, flags=flags, offsets=offsets)
    batch = decode_batch([encode(titled)])
    assert_same_scores([titled], batch, rng)
    assert PhraseScores(random_question(rng), [], batch).spans().start.min() >= 4


@settings(max_examples=40)
@given(blocks(), st.data())
def test_damage_is_a_clear_error(block: PhraseBlock, data: st.DataObject) -> None:
    stored = encode(block)
    cut = stored[: data.draw(st.integers(0, len(stored) - 1))]
    for damaged in (cut, stored + b"\0"):
        with pytest.raises(IndexDamaged, match="phrase block"):
            decode_batch([stored, damaged])
    flipped = bytearray(stored)
    flipped[data.draw(st.integers(0, len(stored) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(IndexDamaged, match="phrase block"):
        decode_batch([stored, bytes(flipped)], check=True)


@pytest.mark.parametrize("seed", range(12))
def test_a_block_whose_number_became_the_older_one_is_damaged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stored = bytearray(encode(random_block(rng, int(rng.integers(1, 60)))))
    stored[3] = 2
    for others in ([], [encode(random_block(rng, 20))]):
        with pytest.raises(IndexDamaged, match="phrase block"):
            decode_batch([*others, bytes(stored)], check=True)


def test_blocks_of_other_dimensions_do_not_go_together() -> None:
    block = random_block(np.random.default_rng(6), 30)
    with pytest.raises(IndexDamaged, match="another shape"):
        decode_batch([encode(block), encode(coarse(block))])


def test_rows_that_do_not_fit_their_counts_are_found_when_they_are_read() -> None:
    rng = np.random.default_rng(7)
    stored = encode(random_block(rng, 40))
    heads = read_heads([stored])
    at = int(column_ends(heads, read_matrices([stored], 4))[0][Column.ROWS])
    changed = stored[:at] + bytes([stored[at] ^ 0x80]) + stored[at + 1 :]
    every = (np.repeat(np.arange(4), 40), np.zeros(160, np.int64), np.tile(np.arange(40), 4))
    with pytest.raises(IndexDamaged, match="more or fewer"):
        decode_batch([changed]).sparse.entries(*every)


def test_another_format_is_named() -> None:
    stored = bytearray(encode(random_block(np.random.default_rng(3), 5)))
    stored[3] = 1
    with pytest.raises(IndexDamaged, match="format"):
        decode_batch([bytes(stored)])


@given(blocks())
def test_the_parts_sum_to_the_whole(block: PhraseBlock) -> None:
    stored = encode(block)
    assert sum(bytes_by_part([stored]).values()) == len(stored)


def test_few_bits_take_less_room() -> None:
    block = random_block(np.random.default_rng(4), 150, kept=0.3)
    assert len(encode(coarse(block))) < 0.75 * len(encode(block))
