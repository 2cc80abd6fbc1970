"""What the tools give. A field that is not known is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .quoting import NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """An answer, and where it stands."""

    text: str
    sentence: str
    """The sentence around it."""
    title: str
    url: str
    """To cite it by: the document's address, or where it can be read."""
    passage_id: str
    document_id: str
    start: int
    """First character of the answer in the document's text."""
    end: int
    score: float
    confidence: float | None = None
    """How likely it is right, from 0 to 1; of the best answer of an index only."""
    source: str | None = None
    page: int | None = None
    line: int | None = None
    """Line of the file, from 1."""
    index: str | None = None
    """Which index it is from, if there are several."""
    also_in: tuple[str, ...] | None = None
    """Other documents that say the same, by url."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a question gets."""

    found: bool
    """False if there is no answer that is sure enough."""
    message: str
    answer: str | None = None
    """The best answer, if there is one that is sure enough."""
    confidence: float | None = None
    missing: tuple[str, ...] | None = None
    """What could not be searched; answers may be missing."""
    note: str = NOTE
    answers: tuple[ToolAnswer, ...]
    """Best first; guesses if `found` is false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFacts:
    """Where a search result stands."""

    document_id: str
    start: int
    """First character of the text in the document."""
    end: int
    score: float
    source: str | None = None
    page: int | None = None
    line: int | None = None
    index: str | None = None
    metadata: Mapping[str, str] | None = None
    note: str = NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A passage that fits; `fetch` takes its id."""

    id: str
    title: str
    url: str
    text: str
    metadata: ResultFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """What a search finds, best first."""

    results: tuple[SearchResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedFacts:
    """What is known of a fetched text."""

    document_id: str
    start: int
    """First character of the text in the document."""
    end: int
    characters: int
    """Of the whole document."""
    next_start: int | None = None
    """Fetch the document from here on for more; left out at its end."""
    source: str | None = None
    page: int | None = None
    index: str | None = None
    metadata: Mapping[str, str] | None = None
    note: str = NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedText:
    """The text of a document, or of a part of it."""

    id: str
    title: str
    text: str
    url: str
    metadata: FetchedFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document in a list."""

    id: str
    title: str
    url: str
    passages: int
    source: str | None = None
    index: str | None = None
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentList:
    """Documents, one page of them."""

    note: str = NOTE
    documents: tuple[ListedDocument, ...]
    filters: Mapping[str, tuple[str, ...]]
    """What `where` can filter by: keys of the metadata, each with its most frequent values."""
    total: int | None = None
    """How many there are on all pages, if that is known."""
    next_cursor: str | None = None
    """Give it as `cursor` for the next page; left out on the last one."""
