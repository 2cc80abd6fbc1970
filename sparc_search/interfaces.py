"""The plugin points, as Protocols. Built-ins come in by the same door (entry points of the same name)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .block_batch import Blocks
from .records import Document, EncodedPassage, EncodedQuestion, Features, Passage, PhraseBlock


@runtime_checkable
class Reader(Protocol):
    """`sparc_search.readers`: a file becomes documents."""

    suffixes: tuple[str, ...]
    """File name endings it takes, such as `.md`; `.gz` is taken off before."""

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """Yield the documents of one open file; raise `RejectedDocument` for one that cannot be read."""


@runtime_checkable
class Encoder(Protocol):
    """`sparc_search.encoders`: text becomes vectors and weights."""

    fingerprint: str
    """Hash of everything that decides its results; an index made with another is refused."""

    window: int
    """Most word pieces a passage may have."""

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character offsets of the word pieces of `text`, however long it is."""

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages; the result of one never depends on the others."""

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """Encode questions."""


@runtime_checkable
class Preparable(Protocol):
    """An encoder that loads its network at the first use: one that is only asked what is known need not."""

    def prepare(self) -> None:
        """Load it now."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a first stage proposes."""

    passage_id: str
    score: float


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as the store gives it back."""

    passage: Passage
    block: PhraseBlock


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts behind the lexical weights, as of one snapshot of the index."""

    snapshot: int
    passages: int
    document_frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document with its passages: the unit a store adds and replaces as a whole."""

    document: Document
    content_hash: str
    passages: tuple[EncodedPassage, ...]


class Searchable(Protocol):
    """The reading half of a store."""

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there."""

    def sparse_search(self, query: Features, k: int, where: Mapping[str, str]) -> list[Hit]:
        """The k passages with the highest dot product, ties by passage id; only positive scores."""

    def fetch(self, passage_ids: Sequence[str]) -> list[StoredPassage]:
        """Passages by id, in that order; those that have vanished are left out."""

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        """Number of passages and, of these terms, in how many each stands."""


@runtime_checkable
class Store(Searchable, Protocol):
    """`sparc_search.stores`: keeps passages and answers sparse queries. The entry point opens one."""

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        """Add or replace documents, all or none; durable when it returns."""

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""

    def close(self) -> None:
        """Write what is still to be written and let go of files and locks; nothing acknowledged depends on it."""


@runtime_checkable
class Pinning(Protocol):
    """A store that can hold still: what is asked of a view comes from one state of the index."""

    def view(self) -> AbstractContextManager[Searchable]:
        """One committed state, for as long as the context lasts."""


@runtime_checkable
class DenseSearch(Protocol):
    """A store that keeps passage vectors beside its passages and searches them itself."""

    def dense_search(self, vectors: NDArray[np.float32], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""


@dataclass(frozen=True, slots=True)
class VectorChange:
    """Passages a store gained; a dense store that has added them is at `generation`."""

    generation: int
    passage_ids: tuple[str, ...]
    vectors: NDArray[np.float32]
    scales: NDArray[np.float32] | None = None
    """Of vectors that are int8 in the store: `vectors / scales` are whole numbers."""
    removed: tuple[str, ...] = ()
    """Passages that went before these came."""


@runtime_checkable
class Matching(Protocol):
    """A store that can list what a filter lets through."""

    def matching(self, where: Mapping[str, str]) -> Iterable[str]:
        """The ids of the passages that have these metadata."""


@runtime_checkable
class VectorSource(Protocol):
    """A store that a dense store can be derived from."""

    identity: str
    """Changes when the store is made anew: what was derived from it before is of no use then."""

    def vector_changes(self, since: int) -> Iterator[VectorChange]:
        """What came after generation `since` (0: from nothing), oldest first; an id that comes again is replaced.

        What was deleted need not be told: such a candidate is found to have vanished when it is fetched.
        """


@runtime_checkable
class SourceCatalogue(Protocol):
    """A store that knows which documents came from where; `ingest --sync` finds the vanished ones by it."""

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        """Id and source of every document whose source begins with the prefix, in any order, read as a stream."""


@runtime_checkable
class Sized(Protocol):
    """A store that can tell how much room it takes."""

    def size_in_bytes(self) -> int:
        """Bytes of everything it keeps, derived files included."""


@runtime_checkable
class Described(Protocol):
    """A store that can say what it holds; `index stats` prints it."""

    def describe(self) -> Mapping[str, object]:
        """Facts by name, in the order they are to be shown."""


@runtime_checkable
class Enumerable(Protocol):
    """A store whose documents can be read back as they were added; `index export` and `index reencode` do."""

    encoder: str
    """Fingerprint of the encoder it was made with."""

    def documents(self) -> Iterator[EncodedDocument]:
        """Every document of one committed state, by id."""


@runtime_checkable
class Compactable(Protocol):
    """A store that can be tidied; `index compact` and `index delete --purge` do."""

    def compact(self) -> None:
        """Put pieces together and give back the room of what was deleted: its bytes are gone when this returns."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that is not as it should be."""

    where: str
    what: str
    derived: str = ""
    """Name of the derived part it is in, which can be made again from the truth; empty if it is in the truth."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `verify` looked at, and what it found."""

    counts: Mapping[str, int]
    problems: tuple[Problem, ...]


@runtime_checkable
class Verifiable(Protocol):
    """A store that can check itself; `index verify` does."""

    def verify(self) -> CheckReport:
        """Look at everything."""

    def repair(self, report: CheckReport) -> list[str]:
        """Make the derived parts that a report names again; their names."""


@runtime_checkable
class Rebuildable(Protocol):
    """A store that can be made anew for another encoder while it goes on serving; `index reencode` does."""

    def rebuilding(self, encoder: str) -> AbstractContextManager[Store]:
        """The store to come. It takes the old one's place when the context ends without an error."""


@runtime_checkable
class Reversible(Protocol):
    """A store that keeps the version before a rebuild; `index rollback` goes back to it."""

    def rollback(self) -> str:
        """Serve the version before again; its name. What is served now becomes the one before."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that a store would not take, and why."""

    document_id: str
    reason: str
    remedy: str = ""


@runtime_checkable
class Selective(Protocol):
    """A store that can leave out single documents of a batch; `ingest` reports them as rejected."""

    def add_what_fits(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        """Add or replace documents; durable when it returns. What is refused is not in the store afterwards."""


@runtime_checkable
class ManyQueries(Protocol):
    """A store that answers several sparse queries in one go."""

    def sparse_search_many(self, queries: Sequence[Features], k: int, where: Mapping[str, str]) -> list[list[Hit]]:
        """What `sparse_search` gives for each."""


@runtime_checkable
class BatchFetch(Protocol):
    """A store that gives the phrase blocks of many passages, without their texts."""

    def fetch_batch(self, passage_ids: Sequence[str]) -> tuple[list[str], Blocks | None]:
        """The ids of those that are there, in that order, and their blocks; None if there is none."""

    def fetch_passages(self, passage_ids: Sequence[str]) -> list[Passage]:
        """Passages without their blocks, in that order; those that have vanished are left out."""


@runtime_checkable
class Degradable(Protocol):
    """A store (or a view of it) whose results may lack something, and that says so."""

    def degraded(self) -> tuple[str, ...]:
        """What was missing from the results since it was asked last, by this thread."""


@runtime_checkable
class DenseStore(Protocol):
    """`sparc_search.dense_stores`: passage vectors in, nearest passages out. The entry point opens one."""

    def add(self, passage_ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add vectors."""

    def search(self, vectors: NDArray[np.float32], k: int, allowed: Iterable[str] | None) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""

    def close(self) -> None:
        """Write what is still to be written and let go of files."""


@runtime_checkable
class Inspectable(Protocol):
    """An encoder that can be looked into; `inspect` does."""

    ngrams: tuple[int, ...]
    """The sizes of the n-grams it weighs."""

    def piece(self, token_id: int) -> str:
        """The word piece of a token id."""

    def word_pieces(self, text: str) -> list[str]:
        """The word pieces of a text, in their order."""

    def encode_unfiltered(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages as ever, but keep every token at which a phrase may start or end."""


@dataclass(frozen=True, slots=True)
class FeatureStatistics:
    """In how many passages a feature of a field stands, and how its values are spread over bins of equal width."""

    passages: int
    smallest: float = 0.0
    largest: float = 0.0
    mean: float = 0.0
    edges: tuple[float, ...] = ()
    """One more than there are bins."""
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureCount:
    """A feature, and in how many passages it stands."""

    name: str
    passages: int


@runtime_checkable
class FeatureCatalogue(Protocol):
    """A store that knows its features; `inspect feature` and the page of an index show it.

    The passages in which a feature weighs most need no method of their own: `sparse_search({field: {name: 1.0}}, k,
    where)` is one linear clause, whose score is the value.
    """

    def feature_statistics(self, field: str, name: str, bins: int) -> FeatureStatistics:
        """What is known of one feature; nothing but zeros if there is none."""

    def frequent_features(self, field: str, k: int) -> list[FeatureCount]:
        """The k features that stand in most passages, ties by name."""

    def features_like(self, beginning: str, k: int) -> list[FeatureCount]:
        """Features whose name begins like this, frequent ones first: what is offered while someone types."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Which passages (or documents) to list: all that fit every part, one page of them."""

    text: str = ""
    """Words that text, title or metadata must hold, wherever they stand."""
    where: tuple[tuple[str, str], ...] = ()
    """Metadata a passage must have."""
    without: tuple[tuple[str, str], ...] = ()
    """Metadata it must not have."""
    features: tuple[tuple[str, str], ...] = ()
    """Features (field, name) it must have."""
    without_features: tuple[tuple[str, str], ...] = ()
    document_id: str = ""
    """Only passages of this document."""
    offset: int = 0
    size: int = 25


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """A document in a list."""

    id: str
    title: str
    source: str
    metadata: Mapping[str, str]
    passages: int


@dataclass(frozen=True, slots=True)
class ListedPassages:
    """One page of passages."""

    passages: tuple[Passage, ...]
    total: int | None
    """How many there are on all pages; None where counting would mean reading everything."""
    more: bool
    """Whether another page follows."""


@dataclass(frozen=True, slots=True)
class ListedDocuments:
    """One page of documents."""

    documents: tuple[DocumentFacts, ...]
    total: int | None
    more: bool


@runtime_checkable
class Browsable(Protocol):
    """A store that can be leafed through; the page `discover` does."""

    def list_passages(self, listing: Listing) -> ListedPassages:
        """Passages that fit, documents in the order they came in, passages in the order of their document."""

    def list_documents(self, listing: Listing) -> ListedDocuments:
        """Documents with a passage that fits, in the order they came in."""

    def metadata_values(self, k: int) -> dict[str, list[tuple[str, int]]]:
        """For each key of the metadata its k most frequent values, each with its number of passages."""

    def sample(self, count: int) -> list[str]:
        """The ids of so many passages (or of all), evenly spread, the same whenever nothing has changed."""


class StoreOpener(Protocol):
    """What an entry point of `sparc_search.stores` is: opens (or makes) the store at a location."""

    def __call__(self, location: Path, encoder: str, *, writable: bool) -> Store:
        """Open it for an encoder's fingerprint; `IndexMismatch` if it was made with another."""


@runtime_checkable
class Configurable(Protocol):
    """A store opener with settings besides the location."""

    def with_settings(self, values: Mapping[str, object]) -> StoreOpener:
        """The same opener for these settings (see `sparc_search.settings`)."""


@runtime_checkable
class RebuildOpener(Protocol):
    """A store opener that can also begin anew where the format of what is there is not readable any more."""

    def rebuild(self, location: Path, encoder: str) -> AbstractContextManager[Store]:
        """The store to come. It takes the old one's place when the context ends without an error."""


class DenseStoreOpener(Protocol):
    """What an entry point of `sparc_search.dense_stores` is: opens the dense store that belongs to a store."""

    def __call__(self, location: Path, source: VectorSource, *, writable: bool) -> DenseStore:
        """Open what is at `location` and bring it up to date with its source."""


class EncoderOpener(Protocol):
    """What an entry point of `sparc_search.encoders` is: opens the encoder of a model."""

    def __call__(self, model: str = "default", *, threads: int = 0) -> Encoder:
        """Open it; `model` is a folder, or `default` for the one in the package; 0 threads lets it choose."""
