from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_blocks import generators

from sparc_search.search import grid as grids
from sparc_search.search.grid import VECTOR_BITS, exact_products, on_grid, vector_on_grid


@pytest.fixture(params=["as doubles", "as single floats"], autouse=True, scope="module")
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few products are taken as doubles, many as single floats, some rows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "as single floats":
            patch.setattr(grids, "_FEW", 0)
            patch.setattr(grids, "_PRODUCTS", 1 << 11)
        yield


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=40))
def test_the_grid_is_finer_than_a_float32(weights: list[float]) -> None:
    rounded = on_grid(weights)
    largest = max((abs(weight) for weight in weights), default=0.0)
    assert np.all(np.abs(np.array(rounded) - weights) <= largest * 2.0**-35)
    assert on_grid(rounded) == rounded


@given(generators(), st.sampled_from([1, 7, 127]), st.integers(1, 200), st.floats(1e-20, 1e20))
def test_products_are_exact(rng: np.random.Generator, largest: int, size: int, scale: float) -> None:
    stored = rng.integers(-largest, largest + 1, (5, size)).astype(np.int8)
    vector = (rng.normal(size=size) * scale).astype(np.float32)
    grid = vector_on_grid(vector)
    whole = grid / np.ldexp(1.0, int(np.frexp(np.abs(grid).max())[1]) - VECTOR_BITS)
    expected = [sum(int(a) * int(b) for a, b in zip(row, whole, strict=True)) for row in stored]
    step = np.ldexp(1.0, int(np.frexp(np.abs(grid).max())[1]) - VECTOR_BITS)
    for bound in (largest, 128):
        assert exact_products((stored,), vector, bound).tolist() == [number * step for number in expected]


@given(generators(), st.integers(0, 30))
def test_how_the_dimensions_are_cut_changes_no_bit(rng: np.random.Generator, cut: int) -> None:
    stored, vector = rng.integers(-8, 8, (9, 30)).astype(np.int8), rng.normal(size=30).astype(np.float32)
    whole = exact_products((stored,), vector)
    assert np.array_equal(whole, exact_products((stored[:, :cut], stored[:, cut:]), vector))
    assert np.array_equal(whole[4:5], exact_products((stored[4:5],), vector))


def test_a_vector_of_zeros() -> None:
    assert exact_products((np.ones((3, 4), np.int8),), np.zeros(4, np.float32)).tolist() == [0.0, 0.0, 0.0]
