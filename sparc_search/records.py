"""The records that travel between rooms: small and frozen.

files -> Document -> Passage -> EncodedPassage -> store
question -> EncodedQuestion -> Candidate -> Answer(parts)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["start", "end"]
SIDES: tuple[Side, Side] = ("start", "end")

LEX = "lex"
FIELDS = (*SIDES, LEX)
"""The fields of the inverted index: learned weights of n-grams for starts and for ends, lexical terms."""

Features = Mapping[str, Mapping[str, float]]
"""field (one of `FIELDS`) -> feature name -> value; the dot product of two of these is a sparse score."""


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a document from character `start` on: its heading, and its page, if there are pages."""

    start: int
    heading: str = ""
    page: int | None = None
    skip: int = 0
    """So many characters from `start` on are the heading itself (or front matter), not text of the section."""


@dataclass(frozen=True, slots=True)
class Document:
    """One thing a reader found: its text, and where it came from."""

    id: str
    text: str
    title: str = ""
    source: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of a document, short enough for the model: `text == document.text[start : start + len(text)]`."""

    id: str
    document_id: str
    number: int
    text: str
    start: int = 0
    title: str = ""
    source: str = ""
    page: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    joints: tuple[int, ...] = ()
    """Offsets in `text` at which joined paragraphs meet; no answer crosses one."""


@dataclass(frozen=True, slots=True)
class SparseColumns:
    """N-gram weights of one side and one n-gram size, by token position: how much its n-gram weighs for which phrases.

    Column `j` (a token position) holds entries `indptr[j]:indptr[j + 1]` of `rows` (indices into the kept starts or
    ends) and `values`; the weight is `values * scale`.
    """

    n: int
    indptr: NDArray[np.int32]  # (tokens + 1,)
    rows: NDArray[np.uint16]  # (entries,)
    values: NDArray[np.uint8]  # (entries,)
    scale: float


@dataclass(frozen=True, slots=True)
class Phrases:
    """One side (start or end) of a passage's phrases: kept positions, their int8 vectors, their sparse columns."""

    positions: NDArray[np.int32]  # (kept,) token positions, ascending
    vectors: NDArray[np.int8]  # (kept, dense)
    vector_scales: NDArray[np.float32]  # (kept,)
    spans: NDArray[np.int8]  # (kept, span) the coherency part
    span_scales: NDArray[np.float32]  # (kept,)
    sparse: tuple[SparseColumns, ...]  # one for each n-gram size


@dataclass(frozen=True, slots=True)
class PhraseBlock:
    """All that is needed to score every phrase of one passage exactly, quantised as it is stored."""

    token_ids: NDArray[np.int32]  # (tokens,) word pieces, without [CLS] and the last [SEP]; first the title's, if read
    offsets: NDArray[np.int32]  # (tokens, 2) characters of Passage.text; (0, 0) in the title
    flags: NDArray[np.uint8]  # (tokens,) CONTINUES | PUNCTUATION | AFTER_JOINT | TITLE
    start: Phrases
    end: Phrases
    passage_vector: NDArray[np.int8]  # (pooled,)
    passage_scale: float
    lex_ids: NDArray[np.int32]  # (terms,) ascending token ids of passage and title
    lex_impacts: NDArray[np.float32]  # (terms,) saturated term frequency, 9 significant bits


CONTINUES, PUNCTUATION, AFTER_JOINT, TITLE = 1, 2, 4, 8
"""Token flags: the token goes on with the word before it; is punctuation alone; is the first after a joint; belongs to
the title (or is the [SEP] behind it), which is read before the passage: its n-grams count, but no answer is in it."""


@dataclass(frozen=True, slots=True)
class EncodedPassage:
    """A passage, its phrase block, and its features for the inverted index."""

    passage: Passage
    block: PhraseBlock
    features: Features


@dataclass(frozen=True, slots=True)
class WeightedNgram:
    """An n-gram of a question and the weight the model gives it."""

    ids: tuple[int, ...]
    name: str
    weight: float


@dataclass(frozen=True, slots=True)
class LexTerm:
    """A word piece of a question, for the lexical part, and how often it stands in the question."""

    id: int
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question's vectors and n-gram weights. The learned factor of the passage part is already in its vector."""

    text: str
    start_vector: NDArray[np.float32]
    end_vector: NDArray[np.float32]
    passage_vector: NDArray[np.float32]
    start_ngrams: tuple[WeightedNgram, ...]
    end_ngrams: tuple[WeightedNgram, ...]
    lex_terms: tuple[LexTerm, ...]
    longest_answer: int
    """Most word pieces of an answer to it: as many as the model was trained for."""


Strategy = Literal["hybrid", "sparse", "dense"]
STRATEGIES: tuple[Strategy, Strategy, Strategy] = ("hybrid", "sparse", "dense")

Retriever = Literal["sparse", "dense"]
"""A first stage that proposed a passage."""

PartKind = Literal["dense start", "dense end", "span", "passage", "sparse start", "sparse end", "lex"]
PART_KINDS: tuple[PartKind, ...] = ("dense start", "dense end", "span", "passage", "sparse start", "sparse end", "lex")


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One summand of an answer's score. That of an n-gram or term has a name, and is the product of the two weights."""

    kind: PartKind
    value: float
    name: str = ""
    question_weight: float | None = None
    passage_weight: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A span of a passage, what it scores and why: `sum(part.value for part in parts) == score` to float precision."""

    text: str
    score: float
    passage: Passage
    start: int
    """First character of the answer in `passage.text`."""
    end: int
    """The character after its last one."""
    roads: tuple[Retriever, ...]
    """Which first stages proposed the passage."""
    parts: tuple[ScorePart, ...]
    """One for each kind, or, in an explained answer, one for each n-gram and term too."""
    confidence: float | None = None
    """How likely it is right, if it is the best answer and the model is calibrated."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a question gets: answers, best first, and what was done to find them."""

    question: str
    answers: tuple[Answer, ...]
    strategy: Strategy
    snapshot: int
    """State of the index it was answered from."""
    candidates: int
    """Passages that were proposed and scored."""
    seconds: Mapping[str, float]
    """Time by stage: encode, sparse, dense, fetch, score."""
    degraded: tuple[str, ...] = ()
    """What a server could not search (a shard that failed, a time limit): answers may be missing."""

    @property
    def best(self) -> Answer | None:
        """The first answer, if there is one."""
        return self.answers[0] if self.answers else None

    @property
    def confidence(self) -> float | None:
        """The confidence of the best answer."""
        return self.answers[0].confidence if self.answers else None
