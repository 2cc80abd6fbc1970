"""The passages of an index, for whoever wants their texts: the baselines, and the count of answerable questions."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import UsageError
from ..interfaces import Enumerable, Store
from ..records import Passage


def passages_of(store: Store) -> Iterator[Passage]:
    """Every passage, by document."""
    if not isinstance(store, Enumerable):
        raise UsageError("this store cannot list its passages", "use the `local` engine for this measurement")
    for document in store.documents():
        for encoded in document.passages:
            yield encoded.passage
