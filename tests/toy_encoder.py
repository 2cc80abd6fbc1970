"""An encoder for tests whose every number can be computed by hand.

Tokens
    Words (`\\w+`, lower-cased) and single punctuation marks. A word of more than five letters that ends in `ing` makes
    two tokens: `climbing` -> `climb ##ing`. A token's id is a checksum of its piece.
Dense parts, two dimensions: (number-like, name-like)
    A token with a digit is (1, 0), a capitalised word (0, 1), anything else (0, 0); start, end and span vectors alike.
    A question with `when`, `year` or `many` asks for (1, 0), one with `who`, `where` or `which` for (0, 1).
Passage part, four dimensions
    How many tokens begin with a-f, g-m, n-t, u-z, scaled to unit length; the question's the same, times 2.
Sparse part
    For the phrase at token i, the unigram at j weighs (4 - |i - j|) / 4 as a start, (3 - |i - j|) / 2 as an end, the
    bigram that begins at j half of that; never less than zero, and zero at j = i. In a question every unigram that is
    no stop word and no punctuation weighs 1 for each time it stands there, every bigram of such words 0.5.
Kept
    Starts: tokens that begin a word. Ends: tokens that end one. Punctuation is neither.
Lex
    2·tf / (tf + 1) of each token in passage and title, rounded up to 9 significant bits.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparc_search.encoder import Encoder
from sparc_search.ngrams import feature_name, round_up_9bits
from sparc_search.records import (
    AFTER_JOINT,
    CONTINUES,
    PUNCTUATION,
    EncodedPassage,
    EncodedQuestion,
    LexTerm,
    Passage,
    PhraseBlock,
    Phrases,
    SparseColumns,
    WeightedNgram,
)

QUESTION_WORDS = ("how", "many", "what", "when", "where", "which", "who")
STOP_WORDS = frozenset(
    (
        *QUESTION_WORDS,
        "a",
        "an",
        "and",
        "at",
        "by",
        "did",
        "do",
        "does",
        "has",
        "in",
        "is",
        "it",
        "of",
        "on",
        "the",
        "to",
        "was",
    )
)
NGRAMS = (1, 2)
_WORD = re.compile(r"\w+|[^\w\s]")
_SEEN: dict[int, str] = {}
_LETTERS = ("abcdef", "ghijklm", "nopqrst", "uvwxyz")


@dataclass(frozen=True, slots=True)
class Token:
    """A word piece and where it stands."""

    piece: str
    start: int
    end: int
    kind: tuple[int, int]

    @property
    def id(self) -> int:
        """A checksum of the piece, so that no vocabulary is needed."""
        number = zlib.crc32(self.piece.encode()) >> 1
        _SEEN[number] = self.piece
        return number

    @property
    def continues(self) -> bool:
        """Whether it goes on with the word before it."""
        return self.piece.startswith("##")

    @property
    def is_punctuation(self) -> bool:
        """Whether it is one mark instead of a word."""
        return len(self.piece) == 1 and not self.piece.isalnum() and self.piece != "_"


def tokenize(text: str) -> list[Token]:
    """The tokens of a text."""
    return [token for match in _WORD.finditer(text) for token in _pieces(match)]


def _pieces(match: re.Match[str]) -> Iterator[Token]:
    word, start, end = match[0], match.start(), match.end()
    kind = (1, 0) if any(c.isdigit() for c in word) else (0, 1) if word[0].isupper() else (0, 0)
    if len(word) > 5 and word.endswith("ing"):
        yield Token(word[:-3].lower(), start, end - 3, kind)
        yield Token("##ing", end - 3, end, kind)
    else:
        yield Token(word.lower(), start, end, kind)


class ToyEncoder(Encoder):
    """Vectors and weights that can be computed by hand, for tests."""

    ngrams = NGRAMS

    def __init__(self, fingerprint: str = "toy-1", window: int = 64) -> None:
        self.fingerprint = fingerprint
        self.window = window

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the tokens."""
        return [(token.start, token.end) for token in tokenize(text)]

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages, one at a time."""
        return [_encode_passage(passage) for passage in passages]

    def encode_unfiltered(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages, punctuation kept as starts and ends."""
        return [_encode_passage(passage, everything=True) for passage in passages]

    def piece(self, token_id: int) -> str:
        """The piece whose checksum this is; of those that were seen."""
        return _SEEN[token_id]

    def word_pieces(self, text: str) -> list[str]:
        """The pieces of a text."""
        return [token.piece for token in tokenize(text)]

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """Encode questions, one at a time."""
        return [_encode_question(question) for question in questions]


def open_encoder(model: str = "default", *, threads: int = 0) -> ToyEncoder:
    """A toy encoder for tests; it needs no model files."""
    return ToyEncoder()


def _encode_passage(passage: Passage, everything: bool = False) -> EncodedPassage:
    tokens = tokenize(passage.text)
    kept = [i for i, token in enumerate(tokens) if everything or not token.is_punctuation]
    starts = [i for i in kept if not tokens[i].continues]
    ends = [i for i in kept if not _goes_on(tokens, i)]
    lex = Counter((token.id, token.piece) for token in [*tokens, *tokenize(passage.title)])
    terms = sorted(lex)
    impacts = round_up_9bits([2 * lex[term] / (lex[term] + 1) for term in terms])
    pooled = _letters(tokens)
    block = PhraseBlock(
        token_ids=np.array([token.id for token in tokens], dtype=np.int32),
        offsets=np.array([(token.start, token.end) for token in tokens], dtype=np.int32).reshape(-1, 2),
        flags=_flags(tokens, passage.joints),
        start=_phrases(tokens, starts, _start_weight, scale=1 / 4),
        end=_phrases(tokens, ends, _end_weight, scale=1 / 2),
        passage_vector=np.rint(pooled * 127).astype(np.int8),
        passage_scale=1 / 127,
        lex_ids=np.array([number for number, _ in terms], dtype=np.int32),
        lex_impacts=impacts,
    )
    features = {
        "start": _features(tokens, block.start),
        "end": _features(tokens, block.end),
        "lex": {feature_name([piece]): float(value) for (_, piece), value in zip(terms, impacts, strict=True)},
    }
    return EncodedPassage(passage, block, features)


def _goes_on(tokens: Sequence[Token], i: int) -> bool:
    return i + 1 < len(tokens) and tokens[i + 1].continues


def _flags(tokens: Sequence[Token], joints: Sequence[int]) -> NDArray[np.uint8]:
    flags = np.zeros(len(tokens), dtype=np.uint8)
    for i, token in enumerate(tokens):
        previous = tokens[i - 1].end if i else 0
        flags[i] |= CONTINUES if token.continues else 0
        flags[i] |= PUNCTUATION if token.is_punctuation else 0
        flags[i] |= AFTER_JOINT if any(previous <= joint <= token.start for joint in joints) else 0
    return flags


def _start_weight(distance: int) -> int:
    return max(4 - distance, 0) if distance else 0


def _end_weight(distance: int) -> int:
    return max(3 - distance, 0) if distance else 0


def _phrases(tokens: Sequence[Token], kept: Sequence[int], weight: Callable[[int], int], scale: float) -> Phrases:
    kinds = np.array([tokens[i].kind for i in kept], dtype=np.int8).reshape(-1, 2)
    halves = np.full(len(kept), 0.5, dtype=np.float32)  # stored as 2 x 0.5, so that forgetting a scale shows
    return Phrases(
        positions=np.array(kept, dtype=np.int32),
        vectors=kinds * np.int8(2),
        vector_scales=halves,
        spans=kinds * np.int8(2),
        span_scales=halves,
        sparse=tuple(_columns(len(tokens), kept, weight, n, scale / n) for n in NGRAMS),
    )


def _columns(length: int, kept: Sequence[int], weight: Callable[[int], int], n: int, scale: float) -> SparseColumns:
    """Column j: the n-gram that begins at j, for every kept row it has a weight for. The last n - 1 are empty."""
    indptr, rows, values = [0], [], []
    for j in range(length):
        for row, i in enumerate(kept):
            value = weight(abs(i - j)) if j + n <= length else 0
            if value:
                rows.append(row)
                values.append(value)
        indptr.append(len(rows))
    return SparseColumns(
        n=n,
        indptr=np.array(indptr, dtype=np.int32),
        rows=np.array(rows, dtype=np.uint16),
        values=np.array(values, dtype=np.uint8),
        scale=scale,
    )


def _features(tokens: Sequence[Token], phrases: Phrases) -> dict[str, float]:
    """For each n-gram the largest weight, over the kept rows, of the sum over its positions."""
    sums: dict[str, NDArray[np.float64]] = {}
    for columns in phrases.sparse:
        for j in range(len(tokens) - columns.n + 1):
            name = feature_name([token.piece for token in tokens[j : j + columns.n]])
            entries = slice(columns.indptr[j], columns.indptr[j + 1])
            total = sums.setdefault(name, np.zeros(len(phrases.positions)))
            total[columns.rows[entries]] += columns.values[entries] * columns.scale
    bounds = {name: float(total.max(initial=0.0)) for name, total in sums.items()}
    return {name: float(round_up_9bits(bound)) for name, bound in bounds.items() if bound > 0}


def _letters(tokens: Sequence[Token]) -> NDArray[np.float64]:
    counts = np.array([sum(token.piece[0] in letters for token in tokens) for letters in _LETTERS], dtype=np.float64)
    norm = float(np.linalg.norm(counts))
    return counts / norm if norm else counts


def _encode_question(text: str) -> EncodedQuestion:
    tokens = tokenize(text)
    asked = {token.piece for token in tokens}
    wants = np.array([bool(asked & {"when", "year", "many"}), bool(asked & {"who", "where", "which"})], np.float32)
    ngrams = _weighted(tokens)
    lex = Counter((token.id, token.piece) for token in tokens)
    return EncodedQuestion(
        text=text,
        start_vector=wants,
        end_vector=wants,
        passage_vector=(2 * _letters(tokens)).astype(np.float32),
        start_ngrams=ngrams,
        end_ngrams=ngrams,
        lex_terms=tuple(LexTerm(number, feature_name([piece]), lex[number, piece]) for number, piece in sorted(lex)),
        longest_answer=20,
    )


def _weighted(tokens: Sequence[Token]) -> tuple[WeightedNgram, ...]:
    weights: dict[tuple[Token, ...], float] = {}
    named: dict[tuple[int, ...], tuple[str, float]] = {}
    for n in NGRAMS:
        for j in range(len(tokens) - n + 1):
            gram = tuple(tokens[j : j + n])
            if not any(token.is_punctuation or token.piece in STOP_WORDS for token in gram):
                weights[gram] = 1.0 / n
    for gram, weight in weights.items():
        ids = tuple(token.id for token in gram)
        named[ids] = (feature_name([token.piece for token in gram]), named.get(ids, ("", 0.0))[1] + weight)
    return tuple(WeightedNgram(ids, name, weight) for ids, (name, weight) in sorted(named.items()))
