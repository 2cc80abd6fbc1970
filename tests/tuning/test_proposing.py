"""The pool of a question: the scores that the scorer gives, on every engine, and which of its spans are right."""

from __future__ import annotations

import numpy as np
import pytest
from engines import Engine
from numpy.typing import NDArray

from sparc_search.encoder import Encoder
from sparc_search.evaluation.questions import OpenQuestion
from sparc_search.index import Index
from sparc_search.records import EncodedQuestion, Passage
from sparc_search.tuning.pool import Pool, PoolSide, slot
from sparc_search.tuning.proposing import nowhere, propose

WINDOW = 24
NOTES = [
    {"id": "eiger", "title": "Eiger", "text": "The Eiger was first climbed in 1858 by Charles Barrington."},
    {"id": "matterhorn", "title": "Matterhorn", "text": "The Matterhorn was first climbed in 1865. It is high."},
    {"id": "copy", "title": "Copy", "text": "In 1858 nobody climbed the Matterhorn."},
]
WHEN = OpenQuestion("1", "When was the Eiger first climbed, the Eiger?", ("1858",))


def ids_of(encoder: Encoder, text: str) -> NDArray[np.int32]:
    return encoder.encode_passages([Passage("p", "d", 0, text)])[0].block.token_ids


def pools_of(index: Index, *questions: OpenQuestion, passages: int = 3) -> list[Pool | None]:
    pieces = [ids_of(index.encoder, one.text) for one in questions]
    return list(propose(index, questions, pieces, passages=passages, window=WINDOW))


def scores_of(pool: Pool, question: EncodedQuestion, tokens: list[int]) -> NDArray[np.float64]:
    """By the formula, from the question's numbers."""

    def side(part: PoolSide, vector: NDArray[np.float32], ngrams: dict[tuple[int, ...], float]) -> NDArray[np.float64]:
        weights = np.zeros(2 * WINDOW)
        for order, n in enumerate((1, 2)):
            for at in range(len(tokens) - n + 1):
                gram = tuple(tokens[at : at + n])
                times = sum(tuple(tokens[other : other + n]) == gram for other in range(len(tokens) - n + 1))
                weights[slot(order, at, WINDOW)] = ngrams.get(gram, 0.0) / times
        sparse = np.bincount(part.entry_row, part.entry_value * weights[part.entry_slot], minlength=len(part.scales))
        return part.vectors @ vector * part.scales + sparse

    starts = side(pool.start, question.start_vector, {one.ids: one.weight for one in question.start_ngrams})
    ends = side(pool.end, question.end_vector, {one.ids: one.weight for one in question.end_ngrams})
    passages = pool.passage_vectors @ question.passage_vector * pool.passage_scales
    return starts[pool.start_row] + ends[pool.end_row] + passages[pool.passage] + pool.fixed


def test_the_scores_of_a_pool_are_those_of_the_answers(engine: Engine, toy_encoder: Encoder) -> None:
    with Index.create(settings=engine.settings(), encoder=toy_encoder) as index:
        index.add(NOTES)
        (pool,) = pools_of(index, WHEN)
        assert pool is not None
        answers = index.ask(WHEN.text, k=50, all=True).answers
        tokens = ids_of(toy_encoder, WHEN.text).tolist()
        scores = scores_of(pool, toy_encoder.encode_questions([WHEN.text])[0], tokens)
        assert scores.max() == pytest.approx(answers[0].score, rel=1e-5)
        assert pool.right.sum() == 2, "1858 stands in two notes"
        right = [answer.score for answer in answers if answer.text == "1858"]
        assert sorted(scores[pool.right]) == pytest.approx(sorted(right), rel=1e-5)
        assert pool.can_teach


def test_a_source_decides_where_an_answer_is_right(engine: Engine, toy_encoder: Encoder) -> None:
    with Index.create(settings=engine.settings(), encoder=toy_encoder) as index:
        index.add(NOTES)
        index.add([{"id": "far", "title": "Far", "text": "Zebras number 1858.", "source": "zoo/far.txt"}])
        eiger, far, other = pools_of(
            index,
            OpenQuestion("1", WHEN.text, ("1858",), source="eiger"),
            OpenQuestion("2", WHEN.text, ("1858",), source="no such place"),
            OpenQuestion("3", "When was it?", ("1999",)),
            passages=2,
        )
        assert eiger is not None
        assert far is not None
        assert other is not None
        assert eiger.right.sum() == 1
        assert not far.can_teach
        assert not other.can_teach
        assert nowhere(index, [WHEN, OpenQuestion("3", "When?", ("1999",))]) == {"3"}
