"""Batches of passages of about one length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def by_length(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Indices in batches: longest times count is at most `batch_tokens`, unless one alone is longer.

    The longest come first: if memory is short, that shows at once and not after an hour.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        longest = lengths[batch[0]] if batch else 0
        if batch and (len(batch) + 1) * longest > batch_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
