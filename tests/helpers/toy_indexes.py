"""Local indexes of the toy encoder, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from engines import open_local
from small_corpus import DOCUMENTS, encode_all

from sparc_search import plugins
from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.settings import load

MakeIndex = Callable[..., Index]


def toy_encoder() -> Encoder:
    """The encoder of the plugin `toy`, which must be on the path (fixture `toy_plugin`)."""
    encoder = plugins.load("encoders", "toy")()
    assert isinstance(encoder, Encoder)
    return encoder


def write_index(folder: Path, encoder: Encoder, documents: Sequence[Document] = DOCUMENTS) -> None:
    """Make an index of some documents."""
    with open_local(folder, encoder.fingerprint, writable=True) as store:
        store.add(encode_all(documents, encoder))


@contextmanager
def toy_indexes(new_folder: Callable[[], Path], encoder: Encoder) -> Iterator[MakeIndex]:
    """`make(documents, encoder, **settings)`: an index of them, closed at the end."""
    with ExitStack() as stack:

        def make(documents: Sequence[Document] = DOCUMENTS, by: Encoder = encoder, **given: object) -> Index:
            folder = new_folder() / "index"
            write_index(folder, by, documents)
            settings = load({"index": folder, **given}, environ={}, folder=folder, user_folder=folder)
            return stack.enter_context(Index.open(folder, settings=settings, encoder=by))

        yield make
