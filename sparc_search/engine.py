"""The contract of an engine: a place for passages that answers sparse queries (`sparc_search.stores`).

    Engine    one index, opened: it gives views to read, one writer, and an admin part
    View      one state of the index, to search and to read
    Writer    adds and deletes documents
    Admin     looks after the index

An entry point names a subclass of `Engine`. What it must write is abstract here: `open`, `view` and `writer`, four
methods of a view, two of a writer. All else is optional: a method that an engine leaves out does the same in a slower
way by those that must be there, or raises `Unsupported`; `supports(view, View.dense_search)` asks whether it is there.
Errors are those of `sparc_search.errors`, records those of `sparc_search.stored`. `tests/stores/test_engines.py` holds
any engine to this.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .block_batch import batch_of
from .errors import IndexMismatch, Unsupported
from .records import Document, Features
from .setting import Setting
from .stored import (
    CheckReport,
    Condition,
    EncodedDocument,
    Facets,
    FeatureCount,
    FeatureFigures,
    FeatureStatistics,
    Fetched,
    FetchedBlocks,
    FetchedPassages,
    Hits,
    ListedDocuments,
    ListedPassages,
    Listing,
    Matching,
    Refusal,
    Statistics,
    VectorChange,
    spread,
)

Where = Mapping[str, str]
"""Metadata that a passage must have; empty lets everything through."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index is: a folder on this machine, and the values of the settings that its engine declares."""

    location: Path
    values: Mapping[str, object] = field(default_factory=dict)


_SNAPSHOTS = "export it (`sparc-search index export`)"


class Engine(ABC):
    """One index, opened. Safe to use from several threads; use it as a context, or close it."""

    settings: ClassVar[tuple[Setting, ...]] = ()
    """The settings it declares; `Place.values` holds what the user gave for them, or their defaults."""

    encoder: str
    """Fingerprint of the encoder that the index was made with."""

    name: str = ""
    """Tells apart indexes that share a location, such as several on one server."""

    behind: IndexMismatch | None = None
    """Why views are of the version before the one that counts now: that is of another encoder, or another format."""

    # --- what must be there ----------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> Self:
        """Open the index at a place, for an encoder's fingerprint; an empty one opens whatever is there.

        To write, it is made if there is none (`IndexNotFound` without a fingerprint), and others that want to write are
        turned away by `IndexLocked`. `IndexMismatch` if it was made by another encoder or in another format.
        """

    @abstractmethod
    def view(self) -> AbstractContextManager[View]:
        """What is committed now, for as long as the context lasts.

        When the index is made anew, the next view is of the new version. If that is of another encoder than the engine
        was opened for, views stay with the version before for as long as it is there, and `behind` says so.
        """

    @abstractmethod
    def writer(self) -> Writer:
        """Whoever changes the index; `UsageError` if it was opened for reading."""

    # --- what may be there -----------------------------------------------------------------------------------------

    @classmethod
    def rebuild(cls, place: Place, encoder: str) -> AbstractContextManager[Engine]:
        """The index to come, open for writing. It takes the old one's place when the context ends without an error.

        The old one may be of any format, or not be there at all; it serves until then. What an attempt for the same
        encoder left unfinished is continued.
        """
        raise _cannot("be made anew")

    @classmethod
    def upgrade(cls, place: Place) -> bool:
        """Bring an index of an older format up to this one, as far as that needs no model; whether it did.

        It is made beside the old one, which serves until then, and takes its place in one step.
        """
        return False

    @classmethod
    def restore(cls, place: Place, source: Path, *, replace: bool) -> Mapping[str, object]:
        """Make a backup the index at a place, in one step; what it holds. It is checked before, or `IndexDamaged`.

        If there is an index already, it serves until then; without `replace` it stays (`UsageError`).
        """
        raise _cannot("be restored", _SNAPSHOTS)

    def admin(self) -> Admin:
        """Whoever looks after the index."""
        return Admin()

    def close(self) -> None:  # noqa: B027  (there may be nothing to let go of)
        """Let go of files, locks and connections; nothing acknowledged depends on it."""

    def statistics(self) -> Statistics:
        """What is committed now: the number of the state, and how many passages there are."""
        with self.view() as view:
            return view.statistics([])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class View(ABC):
    """One state of an index. What it gives comes from the state that was committed when it was opened."""

    identity: str = ""
    """Changes when the index is made anew: what was derived from it before is of no use then."""

    # --- what must be there ----------------------------------------------------------------------------------------

    @abstractmethod
    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[Hits]:
        """For each query the k passages with the highest dot product, ties by passage id; only positive scores."""

    @abstractmethod
    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        """Passages by id, in that order; those that are not there are left out."""

    @abstractmethod
    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Number of passages and, of these terms, in how many each stands; absent terms may be left out."""

    @abstractmethod
    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each of these documents that is there."""

    # --- what may be faster ----------------------------------------------------------------------------------------

    def fetch_blocks(self, passage_ids: Sequence[str]) -> FetchedBlocks:
        """The phrase blocks of those passages that are there, in that order."""
        found = self.fetch(passage_ids)
        blocks = batch_of([stored.block for stored in found.passages]) if found.passages else None
        return FetchedBlocks([stored.passage.id for stored in found.passages], blocks, found.missing)

    def fetch_passages(self, passage_ids: Sequence[str]) -> FetchedPassages:
        """Passages without their blocks, in that order; those that are not there are left out."""
        found = self.fetch(passage_ids)
        return FetchedPassages([stored.passage for stored in found.passages], found.missing)

    def feature_statistics(self, field: str, name: str, bins: int) -> FeatureStatistics:
        """What is known of one feature; nothing but zeros if there is none.

        The score of a query with this feature alone, of weight 1, is its value.
        """
        (found,) = self.sparse_search([{field: {name: 1.0}}], 10_000, {})
        return spread(np.array([hit.score for hit in found.hits], np.float64), bins)

    def sample(self, count: int) -> list[str]:
        """The ids of so many passages (or of all), evenly spread, the same whenever nothing has changed."""
        ids = sorted(self.matching({}).passage_ids)
        return [ids[place] for place in sorted({number * len(ids) // count for number in range(count)})] if ids else []

    # --- what may be there: vectors --------------------------------------------------------------------------------

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Where) -> list[Hits]:
        """For each vector the k passages of the largest inner product, ties by passage id.

        An engine without it need only have `vector_changes`: the vectors are then kept and searched on this machine.
        """
        raise _cannot("search vectors")

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """What came after state `since` (0: from nothing), oldest first; an id that comes again is replaced.

        Complete, or `Incomplete`: what is derived from it lasts. What was deleted need not be told: such a candidate
        is found to have vanished when it is fetched.
        """
        raise _cannot("give its vectors away", "use one that can (--engine), or set `strategy` to `sparse`")

    def matching(self, where: Where) -> Matching:
        """The ids of the passages that have these metadata."""
        raise _cannot("list what a filter lets through")

    # --- what may be there: documents ------------------------------------------------------------------------------

    def documents(self, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
        """Every document, or those of these ids, as it was added, by id; `index export` and `index reencode` do so."""
        raise _cannot("list its documents")

    def texts(self, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """Every document, or those of these ids, without its passages, which need not be whole."""
        return (encoded.document for encoded in self.documents(ids))

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins like this; `ingest --sync` finds vanished ones by it."""
        raise _cannot("tell which documents came from where", "leave --sync out")

    # --- what may be there: to be looked at ------------------------------------------------------------------------

    def list_passages(self, listing: Listing) -> ListedPassages:
        """Passages that fit, documents in the order they came in, passages in the order of their document."""
        raise _cannot("list its passages")

    def list_documents(self, listing: Listing) -> ListedDocuments:
        """Documents with a passage that fits, in the order they came in."""
        raise _cannot("list its documents by page")

    def facets(self, listing: Listing, k: int) -> Facets:
        """What all passages that fit have in common: k values of each key of the metadata, k folders, weights."""
        raise _cannot("count what a list has in common")

    def count_features(self, listing: Listing, features: Sequence[tuple[str, str]]) -> list[int]:
        """In how many of the passages that fit each of these features (field, name) stands."""
        having = (replace(listing, offset=0, size=1, more=(*listing.more, Condition(*one))) for one in features)
        return [self.list_passages(one).total or 0 for one in having]

    def metadata_values(self, k: int) -> dict[str, list[tuple[str, int]]]:
        """For each key of the metadata its k most frequent values, each with its number of passages."""
        raise _cannot("list its metadata")

    def frequent_features(self, field: str, k: int) -> list[FeatureCount]:
        """The k features of a field that stand in most passages, ties by name."""
        raise _cannot("list its features")

    def feature_figures(self) -> Sequence[FeatureFigures]:
        """Features that lead a ranking: by passages, by learned weight, by its distance to tf-idf."""
        raise _cannot("tell what its features weigh")

    def features(self, passage_ids: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
        """The features of passages, by id and field."""
        raise _cannot("list the features of a passage")

    def features_like(self, beginning: str, k: int) -> list[FeatureCount]:
        """Features whose name begins like this, frequent ones first: what is offered while someone types."""
        raise _cannot("look up features by their beginning")


class Writer(ABC):
    """Changes an index. Every change is durable when the method returns, and seen by views that are opened then."""

    @abstractmethod
    def add(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        """Add or replace documents; of several with one id the last counts.

        A document that is refused (a passage id that another one has, say) is not in the index afterwards; all others
        are. On any other error it is as if nothing had been asked.
        """

    @abstractmethod
    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""


class Admin:
    """Looks after an index. All of it is optional."""

    def describe(self) -> Mapping[str, object]:
        """What the index holds: facts by name, in the order they are to be shown."""
        raise _cannot("describe itself")

    def size_in_bytes(self) -> int:
        """Bytes of everything it keeps, derived files included."""
        raise _cannot("tell its size")

    def compact(self) -> None:
        """Put pieces together and give back the room of what was deleted: its bytes are gone when this returns."""
        raise _cannot("be compacted")

    def verify(self) -> CheckReport:
        """Look at everything."""
        raise _cannot("check itself")

    def backup(self, target: Path) -> Mapping[str, object]:
        """Copy what is committed now to a new folder or file, also while someone writes, and verify the copy."""
        raise _cannot("be backed up", _SNAPSHOTS)

    def repair(self, report: CheckReport) -> list[str]:
        """Make the derived parts that a report names again; their names."""
        raise _cannot("repair itself")

    def rollback(self) -> str:
        """Serve the version before the last rebuild again; its name. What is served now becomes the one before."""
        raise _cannot("go back to a version before")


def supports(part: object, method: Callable[..., object]) -> bool:
    """Whether an engine (or an encoder, …) has an optional method of its own: `supports(view, View.dense_search)`."""
    kind = part if isinstance(part, type) else type(part)
    own = getattr(kind, method.__name__)
    return getattr(own, "__func__", own) is not getattr(method, "__func__", method)


def _cannot(what: str, remedy: str = "use one that can (--engine)") -> Unsupported:
    return Unsupported(f"this engine cannot {what}", remedy)
