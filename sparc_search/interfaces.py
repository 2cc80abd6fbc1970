"""The plugin points, as Protocols. Built-ins come in by the same door (entry points of the same name)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

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

        What was deleted is not told: such a candidate is found to have vanished when it is fetched.
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
class DenseStore(Protocol):
    """`sparc_search.dense_stores`: passage vectors in, nearest passages out. The entry point opens one."""

    def add(self, passage_ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add vectors."""

    def search(self, vectors: NDArray[np.float32], k: int, allowed: Iterable[str] | None) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, ties by passage id."""

    def close(self) -> None:
        """Write what is still to be written and let go of files."""


class StoreOpener(Protocol):
    """What an entry point of `sparc_search.stores` is: opens (or makes) the store at a location."""

    def __call__(self, location: Path, encoder: str, *, writable: bool) -> Store:
        """Open it for an encoder's fingerprint; `IndexMismatch` if it was made with another."""


class DenseStoreOpener(Protocol):
    """What an entry point of `sparc_search.dense_stores` is: opens the dense store that belongs to a store."""

    def __call__(self, location: Path, source: VectorSource, *, writable: bool) -> DenseStore:
        """Open what is at `location` and bring it up to date with its source."""


class EncoderOpener(Protocol):
    """What an entry point of `sparc_search.encoders` is: opens the encoder of a model."""

    def __call__(self, model: str = "default", *, threads: int = 0) -> Encoder:
        """Open it; `model` is a folder, or `default` for the one in the package; 0 threads lets it choose."""
