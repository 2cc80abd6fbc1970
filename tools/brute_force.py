"""The best phrase of a whole index, by scoring every one; and how far down each retriever proposes its passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparc_search.engine import View
from sparc_search.records import EncodedQuestion
from sparc_search.search import dense_first, lexical, sparse_first
from sparc_search.search.lexical import LexWeight
from sparc_search.search.ranking import ranked
from sparc_search.stored import Hit

BLOCKS = 256
"""Passages scored at once."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best span: its passage, and what it scores."""

    passage_id: str
    score: float


def weights(view: View, questions: Sequence[EncodedQuestion]) -> list[tuple[LexWeight, ...]]:
    """The lexical weights of each question, without their factor."""
    statistics = lexical.look_up_many(questions, view)
    return [lexical.lex_weights(question, statistics) for question in questions]


def best_of_all(view: View, questions: Sequence[EncodedQuestion], lex_weight: float) -> list[Best | None]:
    """For each question the best of all phrases of the index; of equals the first passage id."""
    lex = [lexical.scaled(own, lex_weight) for own in weights(view, questions)]
    found: list[Best | None] = [None] * len(questions)
    ids = sorted(view.matching({}).passage_ids)
    for at in range(0, len(ids), BLOCKS):
        some = view.fetch_blocks(ids[at : at + BLOCKS])
        if some.blocks is None:
            continue
        for number, (question, own) in enumerate(zip(questions, lex, strict=True)):
            best, here = found[number], next(ranked(question, own, some.blocks, 1), None)
            if here and (best is None or here.score > best.score):
                found[number] = Best(some.passage_ids[here.block], here.score)
    return found


def ranks(
    view: View,
    questions: Sequence[EncodedQuestion],
    best: Sequence[Best | None],
    lex_weight: float,
    k: int,
) -> list[tuple[int, int]]:
    """For each question, at which place each retriever proposes the best phrase's passage, from 0; k if it does not."""
    lex = weights(view, questions)
    sparse_hits = sparse_first.propose(view, questions, lex, lex_weight, k, {})
    dense_hits = dense_first.propose(view, None, questions, k, {})
    return [
        (_rank(sparse.hits, one, k), _rank(nearest.hits, one, k))
        for sparse, nearest, one in zip(sparse_hits, dense_hits, best, strict=True)
    ]


def _rank(hits: Sequence[Hit], best: Best | None, k: int) -> int:
    ids = [hit.passage_id for hit in hits]
    return ids.index(best.passage_id) if best and best.passage_id in ids else k
