"""What goes into an engine and what comes out of it: small frozen records, beside those of `records`.

Whatever an engine finds carries its own news: `missing` says, in words for a person, what could not be searched or read
for this very result (a lost shard, a time limit). It is empty when the result is whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .block_batch import Blocks
from .errors import IndexFailure
from .records import Document, EncodedPassage, Passage, PhraseBlock

Missing = tuple[str, ...]
"""What a result lacks; empty if it is whole."""


# --- going in --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document with its passages: the unit that is added and replaced as a whole."""

    document: Document
    content_hash: str
    passages: tuple[EncodedPassage, ...]
    arithmetic: str = ""
    """By which arithmetic the passages were encoded (`Encoder.arithmetic`); empty where nobody knows."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that an engine would not take, and why."""

    document_id: str
    reason: str
    remedy: str = ""

    def error(self) -> IndexFailure:
        """For a caller that cannot do without the document."""
        return IndexFailure(f"document {self.document_id!r}: {self.reason}", self.remedy)


def values_of(value: str) -> list[str]:
    """What a piece of metadata says: of a list, as JSON writes it, each of its values; else itself."""
    if not (value.startswith("[") and value.endswith("]")):
        return [value]
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return [value]
    if any(isinstance(one, dict | list) for one in found):
        return [value]
    return list(dict.fromkeys(one if isinstance(one, str) else json.dumps(one) for one in found))


def pairs_of(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a filter compares with: every key of the metadata with every one of its values."""
    return [(key, one) for key, value in metadata.items() for one in values_of(value)]


# --- coming out ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a first stage proposes."""

    passage_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """What one query found, best first."""

    hits: Sequence[Hit] = ()
    missing: Missing = ()


@dataclass(frozen=True, slots=True)
class Proposals:
    """What each first stage found for a question; nothing if the strategy leaves it out."""

    sparse: Hits
    dense: Hits


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as it is stored, with its phrase block."""

    passage: Passage
    block: PhraseBlock


@dataclass(frozen=True, slots=True)
class Fetched:
    """Passages with their blocks."""

    passages: Sequence[StoredPassage] = ()
    missing: Missing = ()


@dataclass(frozen=True, slots=True)
class FetchedBlocks:
    """The blocks of some passages, without their texts; `blocks` is None if there is not one."""

    passage_ids: Sequence[str]
    blocks: Blocks | None
    missing: Missing = ()


@dataclass(frozen=True, slots=True)
class FetchedPassages:
    """Passages without their blocks."""

    passages: Sequence[Passage] = ()
    missing: Missing = ()


@dataclass(frozen=True, slots=True)
class Matching:
    """The ids of the passages that a filter lets through."""

    passage_ids: Sequence[str] = ()
    missing: Missing = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts behind the lexical weights, as of one state of the index."""

    snapshot: int
    """Number of the state: it grows with every change that is committed."""
    passages: int
    document_frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class VectorChange:
    """Passages that came, and passages that went before these; who has taken it over is at `generation`."""

    generation: int
    passage_ids: tuple[str, ...]
    vectors: NDArray[np.float32]
    scales: NDArray[np.float32] | None = None
    """Of vectors that are int8 in the index: `vectors / scales` are whole numbers."""
    removed: tuple[str, ...] = ()


# --- looking after an index ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that is not as it should be."""

    where: str
    what: str
    derived: str = ""
    """Name of the derived part it is in, which can be made again from the truth; empty if it is in the truth."""
    document: str = ""
    """Id of the document whose passages are wrong: they can be made again from its stored text."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `verify` looked at, and what it found."""

    counts: Mapping[str, int]
    problems: tuple[Problem, ...]

    @property
    def derived(self) -> list[str]:
        """Names of the derived parts that something is wrong with."""
        return sorted({problem.derived for problem in self.problems if problem.derived})


# --- looking at an index ---------------------------------------------------------------------------------------------


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


def most_frequent(counts: Mapping[str, int], k: int) -> list[FeatureCount]:
    """The k features that stand in most passages, ties by name; none that stands nowhere."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [FeatureCount(name, count) for name, count in ordered[:k] if count > 0]


def spread(values: NDArray[np.float64], bins: int) -> FeatureStatistics:
    """The statistics of a feature from its values."""
    if not len(values):
        return FeatureStatistics(0)
    top = float(values.max())
    counts, edges = np.histogram(values, bins, (0.0, top))
    return FeatureStatistics(
        len(values), float(values.min()), top, float(values.mean()), tuple(edges.tolist()), tuple(counts.tolist())
    )
