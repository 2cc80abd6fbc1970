"""A question as the model sees it: the weight of each n-gram for start and end, and how rare its terms are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..index import Index, cleaned
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
class QuestionView:
    """The weights of a question."""

    question: str
    ngrams: tuple[NgramRow, ...]
    terms: tuple[QuestionTerm, ...]
    passages: int
    """In the index that the idf is of."""
    lex_weight: float
    """The factor of the lexical part in a score."""
    snapshot: int


def question_view(index: Index, question: str) -> QuestionView:
    """Encode a question and show its weights."""
    encoded = index.encoder.encode_questions([cleaned(question)])[0]
    with index.engine.view() as view:
        statistics = lexical.look_up(encoded, view)
    weighed = {term.name: term.weight for term in lexical.lex_weights(encoded, statistics)}
    terms = []
    for term in encoded.lex_terms:
        containing = statistics.document_frequency.get(term.name, 0)
        rarity = lexical.idf(statistics.passages, containing)
        terms.append(QuestionTerm(term.name, term.count, containing, rarity, weighed[term.name]))
    return QuestionView(
        question,
        question_rows(encoded, weighed),
        tuple(sorted(terms, key=lambda term: (-term.weight, term.name))),
        statistics.passages,
        index.settings.lex_weight,
        statistics.snapshot,
    )


def question_rows(question: EncodedQuestion, tfidf: dict[str, float]) -> tuple[NgramRow, ...]:
    """The n-grams of a question, start and end side by side, heaviest first."""
    start, end = _by_name(question.start_ngrams), _by_name(question.end_ngrams)
    sizes = {ngram.name: len(ngram.ids) for ngram in (*question.start_ngrams, *question.end_ngrams)}
    rows = []
    for name, n in sizes.items():
        left, right = start.get(name, 0.0), end.get(name, 0.0)
        rows.append(NgramRow(name, n, left, right, left + right, tfidf.get(name) if n == 1 else None, ()))
    return tuple(sorted(rows, key=lambda row: (-row.weight, row.name)))


def _by_name(ngrams: Sequence[WeightedNgram]) -> dict[str, float]:
    return {ngram.name: ngram.weight for ngram in ngrams if ngram.weight > 0}
