from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_blocks import blocks, coarse, random_block, same_block

from sparc_search.errors import IndexDamaged
from sparc_search.records import Passage, PhraseBlock
from sparc_search.stores.phrase_block import decode, encode


@given(blocks())
def test_decode_gives_back_what_was_encoded(block: PhraseBlock) -> None:
    assert same_block(decode(encode(block)), block)
    assert same_block(decode(encode(block), check=False), block)


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 70_000), max_size=6))
def test_large_ids_and_far_offsets_survive(token: int, lengths: list[int]) -> None:
    block = random_block(np.random.default_rng(1), len(lengths))
    ends = np.cumsum(np.array(lengths, dtype=np.int64)).astype(np.int32)
    wide = dataclasses.replace(
        block,
        token_ids=np.full(len(lengths), token, np.int32),
        offsets=np.stack([ends - np.array(lengths, np.int32), ends], axis=1),
    )
    assert same_block(decode(encode(wide)), wide)


def test_offsets_that_go_back_survive() -> None:
    block = random_block(np.random.default_rng(2), 3)
    odd = dataclasses.replace(block, offsets=np.array([[5, 6], [2, 9], [2, 3]], np.int32))
    assert same_block(decode(encode(odd)), odd)


def test_impacts_of_more_than_nine_bits_survive() -> None:
    block = random_block(np.random.default_rng(3), 3)
    odd = dataclasses.replace(block, lex_impacts=block.lex_impacts + np.float32(1e-6))
    assert same_block(decode(encode(odd)), odd)


@pytest.mark.parametrize("side", ["start", "end"])
@pytest.mark.parametrize("column", ["vectors", "spans"])
def test_one_wide_column_keeps_its_width_beside_narrow_ones(side: str, column: str) -> None:
    block = coarse(random_block(np.random.default_rng(5), 30))
    phrases = getattr(block, side)
    wide = dataclasses.replace(phrases, **{column: np.full_like(getattr(phrases, column), 100)})
    mixed = dataclasses.replace(block, **{side: wide})
    assert len(encode(mixed)) > len(encode(block))
    assert same_block(decode(encode(mixed)), mixed)


def test_more_than_256_tokens_and_rows() -> None:
    block = random_block(np.random.default_rng(4), 700, kept=0.9)
    assert len(block.start.positions) > 256
    assert same_block(decode(encode(block)), block)


@given(blocks(), st.data())
def test_a_flipped_bit_is_found(block: PhraseBlock, data: st.DataObject) -> None:
    stored = bytearray(encode(block))
    stored[data.draw(st.integers(0, len(stored) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(IndexDamaged):
        decode(bytes(stored))


@given(blocks(), st.data())
def test_missing_and_extra_bytes_are_found_even_without_the_checksum(block: PhraseBlock, data: st.DataObject) -> None:
    stored = encode(block)
    cut = stored[: data.draw(st.integers(0, len(stored) - 1))]
    for damaged in (cut, stored + b"\0"):
        for check in (True, False):
            with pytest.raises(IndexDamaged, match="phrase block"):
                decode(damaged, check=check)


def test_a_usual_block_costs_little_more_than_its_vectors_and_entries() -> None:
    block = random_block(np.random.default_rng(5), 150, kept=0.3)
    payload = sum(side.vectors.nbytes + side.spans.nbytes for side in (block.start, block.end))
    payload += sum(2 * len(columns.rows) for side in (block.start, block.end) for columns in side.sparse)
    assert len(encode(block)) < payload + 150 * (2 + 2 + 1 + 4) + 9 * (len(block.start.positions) + 50) * 2 + 200


def test_the_toy_encoders_blocks_survive(toy_encoder: Any) -> None:
    passage = Passage("p", "d", 0, "Climbing the Eiger, 3,967 metres high.")
    (encoded,) = toy_encoder.encode_passages([passage])
    assert same_block(decode(encode(encoded.block)), encoded.block)
