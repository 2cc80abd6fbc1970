"""An index over a handful of documents, looked at with the toy encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.settings import Settings
from sparc_search.stored import EncodedDocument

Make = Callable[..., Index]


@pytest.fixture
def make(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Make]:
    """Opens an index over encoded documents."""
    opened: list[Index] = []

    def opener(*documents: EncodedDocument, encoder: Encoder = toy_encoder) -> Index:
        location = tmp_path / f"index-{len(opened)}"
        with open_local(location, encoder.fingerprint, writable=True) as store:
            store.add(documents)
        opened.append(Index.open(location, settings=Settings(), encoder=encoder))
        return opened[-1]

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def index(make: Make, toy_encoder: Encoder) -> Index:
    """Two documents, three passages."""
    return make(*encode_all(DOCUMENTS, toy_encoder))
