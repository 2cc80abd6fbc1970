"""The records that travel between rooms: small and frozen.

files -> Document -> Passage -> EncodedPassage -> store
question -> EncodedQuestion -> Candidate -> Answer(parts)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Side = Literal["start", "end"]
SIDES: tuple[Side, Side] = ("start", "end")

LEX = "lex"
FIELDS = (*SIDES, LEX)
"""The fields of the inverted index: learned weights of n-grams for starts and for ends, lexical terms."""

Features = Mapping[str, Mapping[str, float]]
"""field (one of `FIELDS`) -> feature name -> value; the dot product of two of these is a sparse score."""


ARROW = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
"""Between the parts of a passage's title path: document, headings, term."""

BlockKind = Literal["", "paragraph", "item", "term", "code", "head", "row", "cell", "furniture"]
BLOCK_KINDS: tuple[BlockKind, ...] = ("", "paragraph", "item", "term", "code", "head", "row", "cell", "furniture")
"""What a part of a document is: a section under a heading (""), or a block within one. A table has rows, of which the
first may be its head; the first cell of a row begins with the row itself. Furniture (menus, footers) is not indexed."""


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a document from character `start` on: its heading, and its page, if there are pages.

    With a kind it is a block of the section that it stands in, up to the next block or section: it is on that section's
    page, and its heading is what it stands under besides that section's (a term, a caption).
    """

    start: int
    heading: str = ""
    page: int | None = None
    skip: int = 0
    """So many characters from `start` on are the heading itself (or front matter), not text of the section."""
    kind: BlockKind = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One thing a reader found: its text, and where it came from."""

    id: str
    text: str
    title: str = ""
    source: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()


BorderKind = Literal["paragraph", "item", "cell", "code"]
"""What begins behind a border: a paragraph, an item of a list, a cell of a table, a block of code."""


class Border(NamedTuple):
    """A place in the text of a passage that no answer crosses."""

    offset: int
    kind: BorderKind = "paragraph"


class AlignedPiece(NamedTuple):
    """Characters of the encoded text, and the characters of the shown text they stand for.

    A piece without a shown part was put in for the model to read: no answer starts or ends there.
    """

    encoded_start: int
    encoded_end: int
    shown_start: int
    shown_end: int


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
    borders: tuple[Border, ...] = ()
    """Where its parts meet; no answer crosses one."""
    encoded_text: str | None = None
    """What the model read, where that is not `text`; offsets of a phrase block count in `text` all the same."""
    alignment: tuple[AlignedPiece, ...] = ()
    """How `encoded_text` and `text` belong together, ascending; empty where they are one."""

    @property
    def joints(self) -> tuple[int, ...]:
        """The offsets of the borders."""
        return tuple(border.offset for border in self.borders)


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

Unit = Literal["phrase", "sentence", "passage", "document"]
UNITS: tuple[Unit, ...] = ("phrase", "sentence", "passage", "document")
"""How much is an answer: the scored phrase, or the sentence, passage or document that holds it."""

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
class ReadLogits:
    """What a reader makes of a span, which it saw together with the question. Nothing of this comes from n-grams."""

    start: float
    end: float
    nothing: float
    """What "no answer here" has in that passage; above `start + end`, the reader believes that."""

    @property
    def score(self) -> float:
        """What the reader gives the span."""
        return self.start + self.end


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a passage: `text == passage.text[start:end]`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Another place that says the same as an answer, and what its phrase scores there."""

    passage: Passage
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A span of a passage, what it scores and why: `sum(part.value for part in parts) == score` to float precision.

    The span is the unit that was asked for; of a document, which may be long, it is the passage that holds the phrase.
    """

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
    read_score: float | None = None
    """What a reader gives it, if its passage was read again: `read_logits.score`. It is no part of `score`."""
    read_logits: ReadLogits | None = None
    unit: Unit = "phrase"
    phrase: Span | None = None
    """The phrase that was scored, if the answer is a larger unit around it."""
    others: tuple[Occurrence, ...] = ()
    """Where else the same stands, best first."""

    @property
    def scored(self) -> Span:
        """The phrase that was scored: the answer itself, or the phrase in it."""
        return self.phrase or Span(self.text, self.start, self.end)

    @property
    def documents(self) -> int:
        """In how many documents it stands."""
        return len({self.passage.document_id, *(place.passage.document_id for place in self.others)})


@dataclass(frozen=True, slots=True)
class Reading:
    """That passages were read again, and what it changed."""

    passages: int
    """How many were read: those of the best answers."""
    weight: float
    """Answers stand in the order of `read_score + weight * score`."""
    fast_answer: str
    """The best answer before anything was read,"""
    fast_passage: str
    """the id of its passage,"""
    fast_score: float
    fast_confidence: float | None
    answered: bool
    """Whether the reader takes its best answer for one. If not, it believes that none of the passages holds any."""


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
    read: Reading | None = None
    """If a reader read the best passages again (setting `read`)."""
    guess: bool = False
    """Whether the best answer is less sure than `min_confidence` asks for. It changes nothing else."""

    @property
    def best(self) -> Answer | None:
        """The first answer, if there is one."""
        return self.answers[0] if self.answers else None

    @property
    def confidence(self) -> float | None:
        """The confidence of the best answer."""
        return self.answers[0].confidence if self.answers else None
