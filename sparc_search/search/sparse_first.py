"""Sparse first: passages by the dot product of n-gram weights and lexical terms with the inverted index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..interfaces import Hit, ManyQueries, Searchable
from ..records import EncodedQuestion, Features, WeightedNgram
from .lexical import LexWeight
from .offers import offers


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
    questions: Sequence[EncodedQuestion],
    lex: Sequence[Sequence[LexWeight]],
    lex_factor: float,
    k: int,
    where: Mapping[str, str],
) -> list[list[Hit]]:
    """For each question the k best passages; none if the index shares nothing with it."""
    queries = [sparse_query(question, own, lex_factor) for question, own in zip(questions, lex, strict=True)]
    if len(queries) > 1 and offers(store, ManyQueries):
        return store.sparse_search_many(queries, k, where)
    return [store.sparse_search(query, k, where) if any(query.values()) else [] for query in queries]
