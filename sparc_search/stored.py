"""What goes into an engine and what comes out of it: small frozen records, beside those of `records`.

Whatever an engine finds carries its own news: `missing` says, in words for a person, what could not be searched or read
for this very result (a lost shard, a time limit). It is empty when the result is whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .block_batch import Blocks
from .errors import IndexFailure
from .records import FIELDS, Document, EncodedPassage, Passage, PhraseBlock

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


def fits(metadata: Mapping[str, str], where: Mapping[str, str]) -> bool:
    """Whether a filter lets it through: every key that is asked for has the value, alone or among others."""
    return where.items() <= set(pairs_of(metadata))


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
class FeatureFigures:
    """An n-gram across an index: for each field in how many passages it stands, and the sum of its values there."""

    name: str
    start: tuple[int, float] = (0, 0.0)
    end: tuple[int, float] = (0, 0.0)
    lex: tuple[int, float] = (0, 0.0)

    @property
    def by_field(self) -> tuple[tuple[int, float], ...]:
        """In the order of `records.FIELDS`."""
        return self.start, self.end, self.lex

    @property
    def passages(self) -> int:
        """In how many passages it stands, in the field where they are most."""
        return max(count for count, _ in self.by_field)

    def mean(self, field: str) -> float:
        """Its mean value in a field, over the passages that have it there."""
        count, total = getattr(self, field)
        return total / count if count else 0.0

    def __add__(self, other: FeatureFigures) -> FeatureFigures:
        pairs = zip(self.by_field, other.by_field, strict=True)
        return FeatureFigures(self.name, *((a + c, b + d) for (a, b), (c, d) in pairs))


LEAST_PASSAGES: Final = 3
"""What stands in fewer passages is left out of rankings by weight: one passage proves nothing (nor in tiny indexes)."""


def rarity(counts: NDArray[np.int64], passages: int) -> NDArray[np.float64]:
    """(features,) A smoothed idf from (fields, features) counts; 0 for features in too few passages to be ranked."""
    frequency = counts.max(axis=0, initial=0)
    known = frequency >= min(LEAST_PASSAGES, max(passages // 20, 1))
    return np.where(known, np.log1p((passages - frequency + 0.5) / (frequency + 0.5)), 0.0)


def learned(counts: NDArray[np.int64], means: NDArray[np.float64], passages: int) -> NDArray[np.float64]:
    """(features,) The mean of learned weights (start, end) times idf."""
    weighed: NDArray[np.float64] = (means[0] + means[1]) / 2 * rarity(counts, passages)
    return weighed


def disagreements(counts: NDArray[np.int64], means: NDArray[np.float64], passages: int) -> NDArray[np.float64]:
    """(features,) Learned weight minus term frequency, both times idf and as a share of the largest; 0 without any.

    Above zero the model makes more of a word than tf-idf does, below zero less. With idf on both sides a stop word,
    which both make little of, is no disagreement.
    """
    ranked = counts[2] > 0
    weight, tfidf = learned(counts, means, passages) * ranked, means[2] * rarity(counts, passages) * ranked
    apart: NDArray[np.float64] = weight / (weight.max(initial=0.0) or 1.0) - tfidf / (tfidf.max(initial=0.0) or 1.0)
    return apart


METADATA: Final = "metadata."
"""Before the key of a condition on metadata."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that a passage of a listing must have; `negated`: must not have."""

    field: str
    """`start`, `end`, `lex`: a feature. `metadata.KEY`: just this value. `document`: its id. `folder`: its source lies
    there. `text`, `title`: words in it. Empty: words in either, or a part of a value of the metadata."""
    value: str
    negated: bool = False
    least: float = 0.0
    """The value of a feature is at least this, and below `below`."""
    below: float | None = None
    whole: bool = False
    """Words must stand one after the other; else each somewhere, and the last may go on."""

    def lets(self, values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which of some weights are within its limits."""
        return (values >= self.least) & (values < (np.inf if self.below is None else self.below))

    @property
    def is_feature(self) -> bool:
        """Whether it is about the weight of a feature."""
        return self.field in FIELDS


ORDERS: Final = ("", "weight", "source", "document", "words", "page")
"""What a listing can be ordered by: as documents came in, or by the first feature that is asked for, or …"""


@dataclass(frozen=True, slots=True)
class Listing:
    """Which passages (or documents) to list: all that fit every part, one page of them."""

    text: str = ""
    """Words that text or title must hold, or a value of the metadata; the last may be the beginning of one."""
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
    more: tuple[Condition, ...] = ()
    """Whatever else it must have."""
    order: str = ""
    """One of `ORDERS`; with `-` in front from the largest down."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All that a passage must have, one by one: what an engine looks for."""
        found = [Condition("", word) for word in self.text.split()]
        found += [Condition(METADATA + key, value) for key, value in self.where]
        found += [Condition(METADATA + key, value, negated=True) for key, value in self.without]
        found += [Condition(field, name) for field, name in self.features]
        found += [Condition(field, name, negated=True) for field, name in self.without_features]
        found += [Condition("document", self.document_id)] if self.document_id else []
        return tuple(dict.fromkeys((*found, *self.more)))

    @property
    def weighed(self) -> tuple[Condition, ...]:
        """The features whose weights are shown."""
        found = (one for one in self.conditions if one.is_feature and not one.negated)
        return tuple({(one.field, one.value): Condition(one.field, one.value) for one in found}.values())


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
    """How many there are on all pages; None where nobody can tell."""
    more: bool
    """Whether another page follows."""
    weights: tuple[tuple[float, ...], ...] = ()
    """For each passage the weight of each feature that is asked for (`Listing.weighed`)."""


@dataclass(frozen=True, slots=True)
class ListedDocuments:
    """One page of documents."""

    documents: tuple[DocumentFacts, ...]
    total: int | None
    more: bool


@dataclass(frozen=True, slots=True)
class Facets:
    """What the passages of a listing, on all its pages, have in common."""

    metadata: Mapping[str, tuple[tuple[str, int], ...]]
    """Key -> its most frequent values, each with its passages."""
    folders: tuple[tuple[str, int], ...] = ()
    """Folders of their sources, those with most passages first."""
    weights: FeatureStatistics | None = None
    """How the weights of the first feature are spread, over all that fits the other conditions."""


def folders_of(sources: Mapping[str, int], k: int) -> tuple[tuple[str, int], ...]:
    """From passages by source: the k folders with most passages; what has no folder is left out."""
    counts: dict[str, int] = {}
    for source, count in sources.items():
        folder = source.rpartition("/")[0]
        if folder:
            counts[folder] = counts.get(folder, 0) + count
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:k])


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
