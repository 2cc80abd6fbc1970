"""Leafing through an index: documents and passages by page, and what to offer while someone types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..engine import View, supports
from ..index import Index
from ..ngrams import feature_name
from ..stored import DocumentFacts, Listing
from . import asking
from .summaries import PassageFacts, facts

LARGEST_PAGE = 500
_MOST_WORDS, _LONGEST_WORD, _LAST = 16, 200, 2**62
_FACETS = 10
"""Values shown of each metadata key."""


@dataclass(frozen=True, slots=True)
class PassagesPage:
    """Passages that fit a listing, one page of them."""

    listing: Listing
    passages: tuple[PassageFacts, ...]
    total: int | None
    """On all pages; None if nobody has counted."""
    more: bool
    metadata: Mapping[str, tuple[tuple[str, int], ...]]
    """Of the whole index: key -> its most frequent values and their passages, to filter by."""


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """Documents that fit a listing, one page of them."""

    listing: Listing
    documents: tuple[DocumentFacts, ...]
    total: int | None
    more: bool
    metadata: Mapping[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that fits what was typed, and how many passages it is about."""

    text: str
    passages: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What to offer while someone types."""

    typed: str
    features: tuple[Suggestion, ...]
    metadata: tuple[Suggestion, ...]
    """As `key=value`."""
    documents: tuple[DocumentFacts, ...]
    """Whose title holds it."""


def discover_passages(index: Index, listing: Listing) -> PassagesPage:
    """One page of passages."""
    listing = checked(listing)
    with index.engine.view() as view:
        listed, metadata = view.list_passages(listing), _metadata(view)
    return PassagesPage(listing, tuple(map(facts, listed.passages)), listed.total, listed.more, metadata)


def discover_documents(index: Index, listing: Listing) -> DocumentsPage:
    """One page of documents."""
    listing = checked(listing)
    with index.engine.view() as view:
        listed, metadata = view.list_documents(listing), _metadata(view)
    return DocumentsPage(listing, listed.documents, listed.total, listed.more, metadata)


def suggest(index: Index, text: str, *, k: int = 10) -> Suggestions:
    """Features, metadata and titles that fit what was typed so far."""
    typed = _words(text)
    if not typed:
        return Suggestions(text, (), (), ())
    with index.engine.view() as view:
        metadata = [
            Suggestion(f"{key}={value}", count)
            for key, values in _metadata(view, most=100).items()
            for value, count in values
            if typed.casefold() in f"{key}={value}".casefold()
        ]
        documents = view.list_documents(Listing(text=typed, size=5 * k)).documents
        features = _features(index, view, typed + " " * text[-1:].isspace(), k)
    titled = tuple(document for document in documents if typed.casefold() in document.title.casefold())
    by_count = sorted(metadata, key=lambda suggestion: (-suggestion.passages, suggestion.text))
    return Suggestions(text, features, tuple(by_count[:k]), titled[:k])


def checked(listing: Listing) -> Listing:
    """A listing whose offset, size and words make sense, and whose texts can be looked up."""
    return Listing(
        text=_words(listing.text),
        where=_pairs(listing.where),
        without=_pairs(listing.without),
        features=_pairs(listing.features),
        without_features=_pairs(listing.without_features),
        document_id=asking.whole(listing.document_id),
        offset=min(max(listing.offset, 0), _LAST),
        size=min(max(listing.size, 1), LARGEST_PAGE),
    )


def _words(text: str) -> str:
    """The first words of a text."""
    return " ".join(word[:_LONGEST_WORD] for word in asking.whole(text).split()[:_MOST_WORDS])


def _pairs(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((asking.whole(key), asking.whole(value)) for key, value in pairs)


def _features(index: Index, view: View, text: str, k: int) -> tuple[Suggestion, ...]:
    if not supports(view, View.features_like):
        return ()
    counts: dict[str, int] = {}
    for beginning in _beginnings(index, text):
        for feature in view.features_like(beginning, k):
            counts.setdefault(feature.name, feature.passages)
    return tuple(Suggestion(name, passages) for name, passages in counts.items())[:k]


def _beginnings(index: Index, text: str) -> list[str]:
    """Beginnings of feature names to look for: the text as typed, and as the model cuts it into word pieces."""
    typed = " ".join(text.lower().split()[-2:]) + (" " if text[-1:].isspace() else "")
    pieces = index.encoder.word_pieces(text)[-2:]
    return list(dict.fromkeys([typed, *([feature_name(pieces)] if pieces else [])]))


def _metadata(view: View, most: int = _FACETS) -> dict[str, tuple[tuple[str, int], ...]]:
    return {key: tuple(values) for key, values in view.metadata_values(most).items()}
