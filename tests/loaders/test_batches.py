from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparc_search.loaders.batches import by_length


@given(st.lists(st.integers(1, 300)), st.integers(1, 1000))
def test_batches_fit_and_hold_everything_once(lengths: list[int], batch_tokens: int) -> None:
    batches = list(by_length(lengths, batch_tokens))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= batch_tokens
    in_order = [lengths[index] for batch in batches for index in batch]
    assert in_order == sorted(in_order, reverse=True)
