"""What the views ask of an index, and what they say if it cannot tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..errors import NotThere, UsageError
from ..index import Index
from ..interfaces import Browsable, FeatureCatalogue, Inspectable, Listing, StoredPassage
from ..ngrams import feature_name

_NUMBER = re.compile("[0-9]{1,9}")

Name = Callable[[Sequence[int]], str]
"""The readable name of an n-gram of token ids."""


def whole(text: str) -> str:
    """A text that can be looked up: half characters, which nothing stored has, become question marks, NUL U+FFFD."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def inspectable(index: Index) -> Inspectable:
    """The encoder, if it can be looked into."""
    if isinstance(index.encoder, Inspectable):
        return index.encoder
    raise UsageError(f"the encoder {index.settings.encoder!r} cannot be looked into", "use one that can (--encoder)")


def ngram_sizes(index: Index) -> tuple[int, ...]:
    """The sizes of the n-grams that the model weighs; none if it cannot be looked into."""
    return index.encoder.ngrams if isinstance(index.encoder, Inspectable) else ()


def browsable(index: Index) -> Browsable:
    """The store, if it can be leafed through."""
    if isinstance(index.store, Browsable):
        return index.store
    raise UsageError(f"the store {index.settings.engine!r} cannot list its passages", "use one that can (--engine)")


def catalogue(index: Index) -> FeatureCatalogue:
    """The store, if it knows its features."""
    if isinstance(index.store, FeatureCatalogue):
        return index.store
    raise UsageError(f"the store {index.settings.engine!r} cannot list its features", "use one that can (--engine)")


def stored(index: Index, passage_id: str) -> StoredPassage:
    """A passage by its id, or by its document's: `notes/alps.md` is its first passage, `notes/alps.md#2` its third."""
    passage_id = whole(passage_id)
    found = index.store.fetch([passage_id])
    if not found and isinstance(index.store, Browsable):
        found = index.store.fetch(_in_document(index.store, passage_id))
    if not found:
        raise NotThere(f"there is no passage {passage_id!r} in the index", "`sparc-search inspect find TEXT` lists ids")
    return found[0]


def _in_document(store: Browsable, name: str) -> list[str]:
    """The id of the passage that a document's id and a number name."""
    document_id, _, number = name.rpartition("#")
    places = [(name, 0)] + ([(document_id, int(number))] if document_id and _NUMBER.fullmatch(number) else [])
    for own, offset in places if name else ():
        listed = store.list_passages(Listing(document_id=own, offset=offset, size=1)).passages
        if listed:
            return [listed[0].id]
    return []


def namer(index: Index) -> Name:
    """Names n-grams of this index's model."""
    encoder = inspectable(index)
    return lambda ids: feature_name([encoder.piece(token_id) for token_id in ids])
