"""The passages of an index, for whoever wants their texts: the baselines, and the count of answerable questions."""

from __future__ import annotations

from collections.abc import Iterator

from ..engine import Engine
from ..records import Passage


def passages_of(engine: Engine) -> Iterator[Passage]:
    """Every passage, by document."""
    with engine.view() as view:
        for document in view.documents():
            for encoded in document.passages:
                yield encoded.passage
