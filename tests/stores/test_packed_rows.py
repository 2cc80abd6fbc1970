"""Rows of sparse columns survive their coding, which takes little more than there is to say."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_blocks import generators

from sparc_search.stores.packed_rows import row_bits, rows_at, shape_of
from sparc_search.stores.packing import numbers_at, pack_bits, pack_numbers, put_numbers, unpack_bits


def drawn(rng: np.random.Generator, kept: int, counts: list[int]) -> np.ndarray:
    parts = [np.sort(rng.choice(kept, count, replace=False)) for count in counts]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def begins_of(counts: np.ndarray, kept: int) -> np.ndarray:
    sizes = shape_of(counts, np.full(len(counts), kept)).bits(counts)
    return sizes.cumsum() - sizes


@example(np.random.default_rng(0), 1, [1.0])
@given(generators(), st.integers(0, 700), st.lists(st.floats(0, 1), max_size=9))
def test_rows_survive(rng: np.random.Generator, kept: int, shares: list[float]) -> None:
    counts = np.array([round(share * kept) for share in shares], np.int64)
    rows = drawn(rng, kept, counts.tolist())
    packed = pack_bits(row_bits(counts, rows, kept))
    begins = begins_of(counts, kept)
    assert np.array_equal(rows_at(packed, begins, counts, np.full(len(counts), kept)), rows)
    some = np.flatnonzero(rng.random(len(counts)) < 0.5)
    wanted = [rows[counts[:at].sum() : counts[: at + 1].sum()] for at in some]
    found = rows_at(packed, begins[some], counts[some], np.full(len(some), kept))
    assert np.array_equal(found, np.concatenate([np.zeros(0, np.int64), *wanted]))


def test_the_example_of_the_page() -> None:
    counts, kept = np.array([4]), np.array([65])
    assert shape_of(counts, kept) == (np.array([4]), np.array([8]))
    bits = row_bits(counts, np.array([3, 17, 18, 40]), 65)
    assert pack_bits(bits[:16]).tolist() == [0x13, 0x82]
    assert bits[16:].nonzero()[0].tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize("kept", [1, 2, 9, 65, 300])
def test_it_is_never_more_than_a_bit_for_each_and_near_the_least_there_can_be(kept: int) -> None:
    counts = np.arange(kept + 1)
    sizes = shape_of(counts, np.full(kept + 1, kept)).bits(counts)
    assert sizes[0] == 0
    assert (sizes[1:] <= kept).all()
    least = np.array([log2(comb(kept, int(count))) for count in counts[1:]])
    assert (sizes[1:] <= least + counts[1:] + 2).all()


@given(generators(), st.integers(1, 80), st.data())
def test_other_bits_are_an_error_or_other_rows(rng: np.random.Generator, kept: int, data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.integers(1, kept), min_size=1, max_size=4)))
    bits = row_bits(counts, drawn(rng, kept, counts.tolist()), kept)
    bits[data.draw(st.integers(0, len(bits) - 1))] ^= True
    try:
        found = rows_at(pack_bits(bits), begins_of(counts, kept), counts, np.full(len(counts), kept))
    except ValueError:
        return
    assert len(found) == counts.sum()
    assert found.max() < kept


@given(st.lists(st.integers(0, 2**56 - 1), max_size=40), st.integers(0, 56))
def test_numbers_of_one_width(numbers: list[int], width: int) -> None:
    short = np.array(numbers, np.int64) & ((1 << width) - 1)
    packed = pack_numbers(short, width)
    assert len(packed) == -(-len(short) * width // 8)
    widths = np.full(len(short), width)
    assert np.array_equal(numbers_at(packed, np.arange(len(short)) * width, widths), short)
    one_by_one = np.zeros(len(short) * width, bool)
    put_numbers(one_by_one, np.arange(len(short)) * width, widths, short)
    assert np.array_equal(unpack_bits(packed)[: len(one_by_one)], one_by_one)
