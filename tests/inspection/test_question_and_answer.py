from __future__ import annotations

import json
import math

import pytest

from sparc_search.errors import NotThere, UsageError
from sparc_search.index import Index
from sparc_search.inspection import answer_view, question_query, question_view, to_json
from sparc_search.records import PART_KINDS

QUESTION = "When was the Eiger climbed?"


def test_a_questions_weights(index: Index) -> None:
    view = question_view(index, QUESTION)
    weights = {row.name: (row.start, row.end, row.n) for row in view.ngrams}
    assert weights["eiger"] == (1.0, 1.0, 1)
    assert weights["eiger climbed"] == (0.5, 0.5, 2)
    assert "the" not in weights
    terms = {term.name: term for term in view.terms}
    assert terms["eiger"].passages == 1
    assert terms["eiger"].idf == pytest.approx(math.log1p((3 - 1 + 0.5) / (1 + 0.5)))
    assert next(row for row in view.ngrams if row.name == "eiger").tfidf == terms["eiger"].weight
    assert view.passages == 3
    assert [term.weight for term in view.terms] == sorted((term.weight for term in view.terms), reverse=True)


def test_an_empty_question_is_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="empty"):
        question_view(index, " \x00 ")


def test_the_parts_of_an_answer_sum_to_its_score(index: Index) -> None:
    view = answer_view(index, QUESTION, k=4)
    assert view.answers[0].text == "1858"
    for answer in view.answers:
        assert list(answer.by_kind) == list(PART_KINDS)
        assert math.fsum(answer.by_kind.values()) == pytest.approx(answer.score)
        assert answer.passage.text[answer.start : answer.end] == answer.text


def test_the_runner_up_beside_it(index: Index) -> None:
    view = answer_view(index, QUESTION)
    comparison = view.comparison
    assert comparison is not None
    assert (comparison.rank, comparison.other) == (1, 2)
    best, second = view.answers[:2]
    assert comparison.difference == best.score - second.score
    for rows in (comparison.by_kind, comparison.by_name):
        assert math.fsum(row.difference for row in rows) == pytest.approx(comparison.difference)
        assert all(row.difference == row.mine - row.other for row in rows)
    sizes = [abs(row.difference) for row in comparison.by_name]
    assert sizes == sorted(sizes, reverse=True)
    assert any(row.name == "eiger" for row in comparison.by_name)


def test_any_two_answers(index: Index) -> None:
    view = answer_view(index, QUESTION, rank=3, against=1)
    assert view.comparison is not None
    assert (view.comparison.rank, view.comparison.other) == (3, 1)
    assert view.comparison.difference <= 0


def test_a_rank_that_is_not_there(index: Index) -> None:
    with pytest.raises(NotThere, match="answers"):
        answer_view(index, QUESTION, rank=10_000)
    with pytest.raises(NotThere, match="answers"):
        answer_view(index, QUESTION, rank=1, against=10_000)


def test_no_answer_is_an_empty_view(index: Index) -> None:
    view = answer_view(index, QUESTION, where={"kind": "no such"})
    assert view.answers == ()
    assert view.comparison is None


def test_json_twins(index: Index) -> None:
    for view in (question_view(index, QUESTION), answer_view(index, QUESTION)):
        twin = to_json(view)
        assert json.loads(json.dumps(twin, allow_nan=False)) == twin


def test_the_same_as_a_query_for_a_server(index: Index) -> None:
    query = question_query(index, QUESTION, size=7, where={"lang": "en"})
    clauses = [clause["rank_feature"] for clause in query["query"]["bool"]["should"]]
    assert {"field": "start.eiger", "linear": {}, "boost": 1.0} in clauses
    assert query["size"] == 7
    assert query["query"]["bool"]["filter"] == [{"term": {"tags": {"value": "lang=en"}}}]
    with index.engine.view() as view:
        (found,) = view.sparse_search([as_features(clauses)], 10, {"lang": "en"})
    assert found.hits  # the clauses are what sparse search asks for


def as_features(clauses: list[dict[str, object]]) -> dict[str, dict[str, float]]:
    features: dict[str, dict[str, float]] = {}
    for clause in clauses:
        field, _, name = str(clause["field"]).partition(".")
        features.setdefault(field, {})[name] = float(str(clause["boost"]))
    return features
