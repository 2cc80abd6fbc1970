"""Sparse first: passages by the dot product of n-gram weights and lexical terms with the inverted index."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine import View, Where
from ..records import LEX, SIDES, EncodedQuestion, Features, WeightedNgram
from ..stored import Hits
from .lexical import LexWeight


def sparse_query(question: EncodedQuestion, lex: Sequence[LexWeight], lex_factor: float) -> Features:
    """The question as a sparse vector. A passage's product with it bounds the sparse parts of all its phrases."""
    start, end = SIDES
    return {
        start: _weights(question.start_ngrams),
        end: _weights(question.end_ngrams),
        LEX: {term.name: term.weight * lex_factor for term in lex if term.weight * lex_factor > 0},
    }


def _weights(ngrams: Sequence[WeightedNgram]) -> dict[str, float]:
    return {ngram.name: ngram.weight for ngram in ngrams if ngram.weight > 0}


def propose(
    view: View,
    questions: Sequence[EncodedQuestion],
    lex: Sequence[Sequence[LexWeight]],
    lex_factor: float,
    k: int,
    where: Where,
) -> list[Hits]:
    """For each question the k best passages; none if the index shares nothing with it."""
    queries = [sparse_query(question, own, lex_factor) for question, own in zip(questions, lex, strict=True)]
    return view.sparse_search(queries, k, where)
