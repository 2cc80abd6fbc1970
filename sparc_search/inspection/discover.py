"""Leafing through an index: documents and passages by page, and what to offer while someone types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..engine import View, supports
from ..index import Index
from ..ngrams import feature_name
from ..records import FIELDS
from ..search.lexical import idf
from ..stored import METADATA, Condition, DocumentFacts, Facets, FeatureStatistics, Listing
from . import asking, grammar
from .grammar import GrammarError, Term
from .summaries import PassageFacts, facts

LARGEST_PAGE = 500
_MOST_WORDS, _LONGEST_WORD, _LAST = 16, 200, 2**62
_FACETS = 10
"""Values shown of each metadata key, folders, n-grams of a field."""
_LOOKED_AT = 25
"""Passages of a page whose n-grams are looked at."""


@dataclass(frozen=True, slots=True)
class PassagesPage:
    """Passages that fit a listing, one page of them, and what all of them have in common."""

    listing: Listing
    passages: tuple[PassageFacts, ...]
    total: int | None
    """On all pages; None if nobody has counted."""
    more: bool
    metadata: Mapping[str, tuple[tuple[str, int], ...]]
    """Of all that fit: key -> its most frequent values and their passages."""
    folders: tuple[tuple[str, int], ...] = ()
    """Of their sources, with their passages."""
    weighed: tuple[tuple[str, str], ...] = ()
    """Features (field, name) that are asked for; `weights` has a number for each of them, for each passage."""
    weights: tuple[tuple[float, ...], ...] = ()
    spread: FeatureStatistics | None = None
    """Weights of the first of them, over all that fits the other conditions."""
    ngrams: Mapping[str, tuple[Suggestion, ...]] = field(default_factory=dict)
    """`start`, `end`, `lex` -> the heaviest n-grams of this page, and how many of all that fit have each."""


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """Documents that fit a listing, one page of them."""

    listing: Listing
    documents: tuple[DocumentFacts, ...]
    total: int | None
    more: bool
    metadata: Mapping[str, tuple[tuple[str, int], ...]]
    folders: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that fits what was typed, and how many passages it is about."""

    text: str
    passages: int


@dataclass(frozen=True, slots=True)
class Completion:
    """A way to go on with what is typed into the box of Discover."""

    typed: str
    """All of the box then."""
    term: str
    passages: int | None


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
        listed, common = view.list_passages(listing), _facets(view, listing)
        ngrams = _ngrams(view, listing, [passage.id for passage in listed.passages])
    weighed = tuple((one.field, one.value) for one in listing.weighed)
    passages = tuple(map(facts, listed.passages))
    rest = (common.folders, weighed, listed.weights, common.weights, ngrams)
    return PassagesPage(listing, passages, listed.total, listed.more, common.metadata, *rest)


def discover_documents(index: Index, listing: Listing) -> DocumentsPage:
    """One page of documents."""
    listing = checked(listing)
    with index.engine.view() as view:
        listed, common = view.list_documents(listing), _facets(view, listing)
    return DocumentsPage(listing, listed.documents, listed.total, listed.more, common.metadata, common.folders)


def typed_listing(index: Index, typed: str, base: Listing) -> tuple[Listing, tuple[Term, ...], GrammarError | None]:
    """What a text in the box and a listing ask for together; and what in the text could not be read."""
    with index.engine.view() as view:
        keys = view.metadata_values(1).keys() if supports(view, View.metadata_values) else ()
    terms, error = grammar.readable(asking.whole(typed), keys)
    terms = tuple(dict.fromkeys((*terms, *grammar.terms_of(base))))
    return grammar.listing_of(terms, base), terms, error


def _facets(view: View, listing: Listing) -> Facets:
    return view.facets(listing, _FACETS) if supports(view, View.facets) else Facets({})


def _ngrams(view: View, listing: Listing, passage_ids: Sequence[str]) -> dict[str, tuple[Suggestion, ...]]:
    """The n-grams that weigh most in some passages, those that stand in every passage of the index left aside.

    Their counts are of all passages that fit, as everything beside a list is.
    """
    if not supports(view, View.features):
        return {}
    features = list(view.features(passage_ids[:_LOOKED_AT]).values())
    counted = view.statistics(sorted({name for own in features for name in own["lex"]}))
    rarity = {name: idf(counted.passages, n) for name, n in counted.document_frequency.items()}  # of words alone
    best: list[tuple[str, str]] = []
    for name_of_field in FIELDS:
        weights: Counter[str] = Counter()
        for own in features:
            weights.update(own[name_of_field])
        rare = {name: max(rarity.get(piece, 0.0) for piece in name.split(" ")) for name in weights}
        heaviest = sorted(weights, key=lambda name: (-weights[name] * rare[name], name))[:_FACETS]
        best += [(name_of_field, name) for name in heaviest]
    counts = list(zip(best, view.count_features(listing, best), strict=True))
    return {name: tuple(Suggestion(one, n) for (own, one), n in counts if own == name) for name in FIELDS}


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


def complete(index: Index, typed: str, *, k: int = 8) -> tuple[Completion, ...]:
    """How what is typed into the box of Discover may go on: the last term of it, made whole."""
    before, last = _last_term(asking.whole(typed))
    minus, rest = ("-", last[1:]) if last.startswith("-") else ("", last)
    key, colon, value = rest.partition(":")
    if not rest:
        return ()
    with index.engine.view() as view:
        known = _metadata(view, most=100) if supports(view, View.metadata_values) else {}
        if colon and key.strip('"') in FIELDS:
            names = _features(index, view, re.split("[<>]", value)[0].strip('"'), k)
            found = [(Condition(key, one.text), one.passages) for one in names]
        elif colon:
            name = key.strip('"').removeprefix(METADATA)
            folders = view.facets(Listing(), 100).folders if key == "folder" and supports(view, View.facets) else ()
            pairs = folders if key == "folder" else known.get(name, ())
            field_of = key if key == "folder" else METADATA + name
            found = [(Condition(field_of, one), n) for one, n in pairs if value.strip('"').casefold() in one.casefold()]
        else:
            found = [(Condition(METADATA + name, one), n) for name, own in known.items() for one, n in own
                     if rest.casefold() in one.casefold()]  # fmt: skip
            found += [(Condition("start", one.text), one.passages) for one in _features(index, view, rest, k)]
    fields = [] if colon else [f"{name}:" for name in (*FIELDS, *grammar.PLACES, *known) if name.startswith(rest)]
    terms = [*((name, None) for name in fields), *((grammar.written(one), n) for one, n in found)]
    return tuple(Completion(before + minus + term, minus + term, n) for term, n in terms[:k])


def _last_term(typed: str) -> tuple[str, str]:
    """What stands before the last term, and the term; a blank within quotes parts nothing."""
    at, quoted = 0, False
    for place, letter in enumerate(typed):
        quoted ^= letter == '"'
        at = place + 1 if letter.isspace() and not quoted else at
    return typed[:at], typed[at:]


def checked(listing: Listing) -> Listing:
    """A listing whose offset, size and words make sense, and whose texts can be looked up."""
    return replace(
        listing,
        text=_words(listing.text),
        where=_pairs(listing.where),
        without=_pairs(listing.without),
        features=_pairs(listing.features),
        without_features=_pairs(listing.without_features),
        document_id=asking.whole(listing.document_id),
        offset=min(max(listing.offset, 0), _LAST),
        size=min(max(listing.size, 1), LARGEST_PAGE),
        more=tuple(replace(one, value=asking.whole(one.value), field=asking.whole(one.field)) for one in listing.more),
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
