"""Sparse first: passages by the dot product of n-gram weights and lexical terms with the inverted index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..interfaces import Hit, Searchable
from ..records import EncodedQuestion, Features, WeightedNgram
from .lexical import LexWeight


def sparse_query(question: EncodedQuestion, lex: Sequence[LexWeight], lex_factor: float) -> Features:
    """The question as a sparse vector. A passage's product with it bounds the sparse parts of all its phrases."""
    return {
        "start": _weights(question.start_ngrams),
        "end": _weights(question.end_ngrams),
        "lex": {term.name: term.weight * lex_factor for term in lex if term.weight * lex_factor > 0},
    }


def _weights(ngrams: Sequence[WeightedNgram]) -> dict[str, float]:
    return {ngram.name: ngram.weight for ngram in ngrams if ngram.weight > 0}


def propose(
    store: Searchable,
    question: EncodedQuestion,
    lex: Sequence[LexWeight],
    lex_factor: float,
    k: int,
    where: Mapping[str, str],
) -> list[Hit]:
    """The k best passages; none if the index shares nothing with the question."""
    query = sparse_query(question, lex, lex_factor)
    return store.sparse_search(query, k, where) if any(query.values()) else []
