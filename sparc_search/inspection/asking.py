"""What the views ask of an index, and what they say if it cannot tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..engine import View, supports
from ..errors import NotThere
from ..index import Index
from ..ngrams import feature_name, parse_feature
from ..records import PhraseBlock
from ..stored import Listing, StoredPassage

_NUMBER = re.compile("[0-9]{1,9}")

Name = Callable[[Sequence[int]], str]
"""The readable name of an n-gram of token ids."""


def whole(text: str) -> str:
    """A text fit to be looked up: lone surrogates become question marks, NUL characters U+FFFD."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def stored(index: Index, passage_id: str) -> StoredPassage:
    """A passage by its id, or by its document's: `notes/alps.md` is its first passage, `notes/alps.md#2` its third."""
    passage_id = whole(passage_id)
    with index.engine.view() as view:
        passages = view.fetch([passage_id]).passages
        if not passages and supports(view, View.list_passages):
            passages = view.fetch(_in_document(view, passage_id)).passages
    if not passages:
        raise NotThere(f"there is no passage {passage_id!r} in the index", "`sparc-search inspect find TEXT` lists ids")
    return passages[0]


def _in_document(view: View, name: str) -> list[str]:
    """The id of the passage that a document's id and a number name."""
    document_id, _, number = name.rpartition("#")
    places = [(name, 0)] + ([(document_id, int(number))] if document_id and _NUMBER.fullmatch(number) else [])
    for document, offset in places if name else ():
        listed = view.list_passages(Listing(document_id=document, offset=offset, size=1)).passages
        if listed:
            return [listed[0].id]
    return []


def ids_of(index: Index, block: PhraseBlock, name: str) -> tuple[int, ...]:
    """The token ids that a feature of a passage has; none if it is not there."""
    known = {index.encoder.piece(token_id): token_id for token_id in set(block.token_ids.tolist())}
    pieces = parse_feature(name)
    return tuple(known[piece] for piece in pieces) if all(piece in known for piece in pieces) else ()


def namer(index: Index) -> Name:
    """Names n-grams of this index's model."""
    return lambda ids: feature_name([index.encoder.piece(token_id) for token_id in ids])
