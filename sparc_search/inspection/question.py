"""A question as the model sees it: the weight of each n-gram for start and end, and how rare its terms are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..encoder import Encoder
from ..errors import Unsupported
from ..index import Index, cleaned
from ..ngrams import feature_name, parse_feature
from ..records import EncodedQuestion, WeightedNgram
from ..search import lexical
from .tables import NgramRow


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A term of the lexical part: idf x how often it stands in the question (at most twice) is its weight."""

    name: str
    count: int
    passages: int
    idf: float
    weight: float


@dataclass(frozen=True, slots=True)
class QuestionPiece:
    """A word piece of a question, and what it weighs alone: learned for starts and for ends, and as a term."""

    piece: str
    """As the model names it: `canal`, `##s`; `[UNK]` where it knows none."""
    text: str
    at: int
    """Its first character in the question."""
    start: float
    end: float
    idf: float


@dataclass(frozen=True, slots=True)
class QuestionView:
    """The weights of a question."""

    question: str
    pieces: tuple[QuestionPiece, ...]
    """What it is made of; nothing where the encoder cannot be looked into."""
    ngrams: tuple[NgramRow, ...]
    """Their positions count these pieces."""
    terms: tuple[QuestionTerm, ...]
    passages: int
    """In the index that the idf is of."""
    lex_weight: float
    """The factor of the lexical part in a score."""
    snapshot: int


def question_view(index: Index, question: str) -> QuestionView:
    """Encode a question and show its weights."""
    encoded = index.encoded(question)
    with index.engine.view() as view:
        statistics = lexical.look_up(encoded, view)
    weighed = {term.name: term.weight for term in lexical.lex_weights(encoded, statistics)}
    terms = []
    for term in encoded.lex_terms:
        containing = statistics.document_frequency.get(term.name, 0)
        rarity = lexical.idf(statistics.passages, containing)
        terms.append(QuestionTerm(term.name, term.count, containing, rarity, weighed[term.name]))
    names = _names(index.encoder, cleaned(question))
    rows = question_rows(encoded, weighed, names)
    return QuestionView(
        question,
        _pieces(index.encoder, cleaned(question), names, rows, {term.name: term.idf for term in terms}),
        rows,
        tuple(sorted(terms, key=lambda term: (-term.weight, term.name))),
        statistics.passages,
        index.settings.lex_weight,
        statistics.snapshot,
    )


def _names(encoder: Encoder, question: str) -> list[str]:
    try:
        return [feature_name([piece]) for piece in encoder.word_pieces(question)]
    except Unsupported:
        return []


def _pieces(
    encoder: Encoder, question: str, names: Sequence[str], rows: Sequence[NgramRow], idf: Mapping[str, float]
) -> tuple[QuestionPiece, ...]:
    alone = {row.name: (row.start, row.end) for row in rows if row.n == 1}
    places = encoder.token_offsets(question) if names else ()
    return tuple(
        QuestionPiece(parse_feature(name)[0], question[at:to], at, *alone.get(name, (0.0, 0.0)), idf.get(name, 0.0))
        for name, (at, to) in zip(names, places, strict=True)
    )


def question_rows(
    question: EncodedQuestion, tfidf: Mapping[str, float], pieces: Sequence[str] = ()
) -> tuple[NgramRow, ...]:
    """The n-grams of a question, start and end side by side, heaviest first; `pieces` are the names of its own."""
    start, end = _by_name(question.start_ngrams), _by_name(question.end_ngrams)
    sizes = {ngram.name: len(ngram.ids) for ngram in (*question.start_ngrams, *question.end_ngrams)}
    rows = []
    for name, n in sizes.items():
        left, right = start.get(name, 0.0), end.get(name, 0.0)
        places = tuple(at for at in range(len(pieces) - n + 1) if " ".join(pieces[at : at + n]) == name)
        rows.append(NgramRow(name, n, left, right, left + right, tfidf.get(name) if n == 1 else None, places))
    return tuple(sorted(rows, key=lambda row: (-row.weight, row.name)))


def _by_name(ngrams: Sequence[WeightedNgram]) -> dict[str, float]:
    return {ngram.name: ngram.weight for ngram in ngrams if ngram.weight > 0}
