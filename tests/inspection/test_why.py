"""Any two phrases for one question: exact, whatever they are, and with a cause."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from small_corpus import DOCUMENTS, encode_all

from sparc_search.encoder import Encoder
from sparc_search.errors import NotThere, UsageError
from sparc_search.index import Index
from sparc_search.inspection import Choice, ScoredPhrase, question_view, score_view, to_json, why_view
from sparc_search.inspection.verdict import CAUSES, Verdict, verdict
from sparc_search.records import Document, EncodedPassage, Passage, Phrases, ReadLogits, ScorePart

from .conftest import Make

QUESTION = "When was the Eiger climbed?"
QUESTIONS = (QUESTION, "Who climbed the Matterhorn?", "Which sea has no outlet?", "How many men reached the summit?")
ONE_WORD = "climbed"


def _kept(one: EncodedPassage, side: Phrases) -> Phrases:
    small = [one.passage.text[one.block.offsets[at, 0]].islower() for at in side.positions.tolist()]
    rows = np.flatnonzero(~np.array(small, bool))
    number = {int(old): new for new, old in enumerate(rows)}
    sparse = []
    for columns in side.sparse:
        inside = np.isin(columns.rows, rows)
        column = np.repeat(np.arange(len(columns.indptr) - 1), np.diff(columns.indptr))[inside]
        counts = np.bincount(column, minlength=len(columns.indptr) - 1)
        sparse.append(
            replace(
                columns,
                indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
                rows=np.array([number[int(row)] for row in columns.rows[inside]], np.uint16),
                values=columns.values[inside],
            )
        )
    names = ("positions", "vectors", "vector_scales", "spans", "span_scales")
    return replace(side, sparse=tuple(sparse), **{name: getattr(side, name)[rows] for name in names})


@pytest.fixture
def filtered(make: Make, toy_encoder: Encoder) -> Index:
    """An index that keeps no start and no end at a small letter."""

    class Filtering(type(toy_encoder)):  # type: ignore[misc]
        def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
            return [
                replace(one, block=replace(one.block, start=_kept(one, one.block.start), end=_kept(one, one.block.end)))
                for one in super().encode_passages(passages)
            ]

    encoder = Filtering()
    return make(*encode_all(DOCUMENTS, encoder), encoder=encoder)


@pytest.mark.parametrize("question", QUESTIONS)
def test_any_two_answers_differ_by_what_their_parts_differ(index: Index, question: str) -> None:
    count = len(index.ask(question, k=4).answers)
    for one, other in product(range(1, count + 1), repeat=2):
        view = why_view(index, question, Choice(answer=one), Choice(answer=other), k=4)
        assert view.b is not None
        assert view.contrast is not None
        assert view.contrast.difference == view.a.score - view.b.score
        for rows in (view.contrast.by_kind, view.contrast.by_name):
            assert math.fsum(row.difference for row in rows) == pytest.approx(view.contrast.difference, abs=1e-12)
            assert all(row.difference == row.mine - row.other for row in rows)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_span_scores_what_it_scores_as_an_answer(index: Index, question: str) -> None:
    for rank, answer in enumerate(index.ask(question, k=6, all=True, explain=True).answers, start=1):
        scored = score_view(index, question, answer.passage.id, answer.start, answer.end)
        assert (scored.text, scored.score, scored.parts) == (answer.text, answer.score, answer.parts)
        assert scored.indexed
        assert not scored.illegal
        assert why_view(index, question, Choice(answer=rank), k=6).a.rank == rank


@pytest.mark.parametrize("question", QUESTIONS)
def test_marks_stand_where_the_n_gram_does_and_sum_to_its_part(index: Index, question: str) -> None:
    for rank in range(1, len(index.ask(question, k=4).answers) + 1):
        phrase = why_view(index, question, Choice(answer=rank), k=4).a
        for kind, side in (("sparse start", "start"), ("sparse end", "end")):
            by_name: dict[str, float] = {}
            for mark in phrase.marks:
                shown = " ".join(piece.text.lower() for piece in phrase.pieces[mark.piece : mark.piece + mark.n])
                assert shown.replace("climb ing", "climb ##ing") == mark.name
                by_name[mark.name] = by_name.get(mark.name, 0.0) + getattr(mark, side)
            parts = {part.name: part.value for part in phrase.parts if part.kind == kind}
            assert {name: points for name, points in by_name.items() if points} == pytest.approx(parts)


def test_only_what_the_question_pays_for_is_marked_unless_all_is_wanted(index: Index) -> None:
    view = why_view(index, QUESTION)
    assert {mark.name for mark in view.a.marks} <= {row.name for row in view.question.ngrams}
    assert view.a.weights == ()
    every = why_view(index, QUESTION, every=True).a.weights
    assert len(every) > len(view.a.marks)
    assert {"by", "by charles"} <= {mark.name for mark in every}


def test_where_the_n_grams_of_a_question_stand_in_it(index: Index) -> None:
    view = question_view(index, "When was the Eiger climbed, climbing?")
    assert [piece.text for piece in view.pieces] == ["When", "was", "the", "Eiger", "climbed", ",", "climb", "ing", "?"]
    positions = {row.name: row.positions for row in view.ngrams}
    assert positions["eiger"] == (3,)
    assert positions["eiger climbed"] == (3,)
    assert positions["climb ##ing"] == (6,)
    eiger = view.pieces[3]
    assert (eiger.start, eiger.end) == (1.0, 1.0)
    assert eiger.idf > view.pieces[2].idf


def test_nothing_chosen_is_the_best_beside_the_next_and_any_other_beside_the_best(index: Index) -> None:
    ranks = [
        (view.a.rank, view.b and view.b.rank)
        for view in (why_view(index, QUESTION), why_view(index, QUESTION, Choice(answer=3)))
    ]
    assert ranks == [(1, 2), (3, 1)]


def test_a_phrase_that_was_filtered_out_is_encoded_on_the_spot(filtered: Index, index: Index) -> None:
    view = why_view(filtered, QUESTION, other=Choice(phrase="first climbed"))
    assert view.b is not None
    assert (view.b.text, view.b.indexed, view.b.rank) == ("first climbed", False, None)
    assert [boundary.note for boundary in view.b.boundaries] == ["filtered out; encoded just now"] * 2
    assert view.verdict is not None
    assert view.verdict.cause == "filtered out"
    assert "start and end" in view.verdict.sentence
    assert view.verdict.winner == "a"
    whole = why_view(index, QUESTION, other=Choice(phrase="first climbed")).b  # nothing is filtered there
    assert whole is not None
    assert (whole.indexed, whole.score) == (True, view.b.score)


def test_half_a_phrase_may_be_indexed(filtered: Index, index: Index) -> None:
    span = (0, len("The Eiger was"))
    half, whole = (score_view(one, QUESTION, "alps/0", *span) for one in (filtered, index))
    assert [boundary.indexed for boundary in half.boundaries] == [True, False]
    assert half.score == whole.score


def test_a_phrase_is_found_where_no_answer_is(index: Index) -> None:
    view = why_view(index, QUESTION, other=Choice(phrase="square kilometres"), k=1)
    assert view.b is not None
    assert view.b.passage.id == "seas/0"
    with pytest.raises(NotThere, match="no passage"):
        why_view(index, QUESTION, other=Choice(phrase="Kilimanjaro"))
    with pytest.raises(NotThere, match="does not stand"):
        why_view(index, QUESTION, other=Choice(passage="seas/0", phrase="Eiger"))


def test_a_phrase_is_looked_for_as_words_before_parts_of_words(make: Make, toy_encoder: Encoder) -> None:
    documents = [Document("a", "Other men climbed there."), Document("b", "Then he climbed the Eiger.")]
    index = make(*encode_all(documents, toy_encoder))
    assert phrase_of(index, Choice(phrase="the")) == ("b/0", "the")
    assert phrase_of(index, Choice(passage="b/0", phrase="THE")) == ("b/0", "the")
    assert phrase_of(index, Choice(passage="a/0", phrase="the")) == ("a/0", "Other")  # there is no such word
    assert phrase_of(index, Choice(phrase="imbed there")) == ("a/0", "climbed there")


def phrase_of(index: Index, choice: Choice) -> tuple[str, str]:
    found = why_view(index, QUESTION, choice).a
    return found.passage.id, found.text


def test_a_passage_stands_for_its_best_phrase(index: Index) -> None:
    view = why_view(index, QUESTION, Choice(passage="seas/0"))
    others = [score_view(index, QUESTION, "seas/0", at, at + 6) for at in range(4, 80, 7)]
    assert view.a.score >= max(other.score for other in others if not other.illegal)


def test_a_span_that_is_too_long_says_so(make: Make, toy_encoder: Encoder) -> None:
    text = " ".join(f"word{number}" for number in range(30))
    index = make(*encode_all([Document("long", text)], toy_encoder))
    scored = score_view(index, "Which word3?", "long/0", 0, len(text))
    assert "30 word pieces" in scored.illegal
    view = why_view(index, "Which word3?", other=Choice(passage="long/0", span=(0, len(text))))
    assert view.verdict is not None
    assert view.verdict.cause == "no answer"


def test_by_tf_idf_the_learned_weights_are_gone_and_nothing_else(index: Index) -> None:
    view = why_view(index, QUESTION, other=Choice(tfidf=True))
    assert view.b is not None
    assert view.contrast is not None
    assert view.b.method == "tfidf"
    assert {row.kind for row in view.contrast.by_name if row.difference} == {"sparse start", "sparse end"}
    learned = view.a.by_kind["sparse start"] + view.a.by_kind["sparse end"]
    assert view.contrast.difference == pytest.approx(learned, abs=1e-12)
    assert sum(mark.lex for mark in view.b.marks) == pytest.approx(
        sum(part.value for part in view.b.parts if part.kind == "lex" and part.name in {m.name for m in view.b.marks})
    )


def test_beside_a_second_index(index: Index, make: Make, toy_encoder: Encoder) -> None:
    second = make(*encode_all([Document("eiger", "The Eiger was climbed in 1921 again.")], toy_encoder))
    view = why_view(index, QUESTION, other=Choice(index="old"), also={"old": second})
    assert view.b is not None
    assert (view.b.text, view.b.index, view.b.passage.id) == ("1921", "old", "eiger/0")
    assert view.other_question is not None
    assert view.other_question.passages == 1
    with pytest.raises(NotThere, match="no index 'new'"):
        why_view(index, QUESTION, other=Choice(index="new"), also={"old": second})


def test_choices_that_exclude_each_other() -> None:
    for wrong in ({"answer": 1, "tfidf": True}, {"answer": 1, "phrase": "x"}, {"span": (1, 2)}):
        with pytest.raises(UsageError):
            Choice(**wrong)  # type: ignore[arg-type]


def cause(index: Index, question: str, other: Choice | None = None, **options: object) -> str:
    view = why_view(index, question, other=other, **options)  # type: ignore[arg-type]
    assert view.verdict is not None
    assert view.verdict.sentence.endswith((".", "…"))
    assert view.verdict.remedy
    return view.verdict.cause


def test_causes(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cause(index, QUESTION, Choice(passage="alps/0", span=(31, 48)), where={}) == "boundary"
    assert cause(index, QUESTION, Choice(passage="seas/0", phrase="371000")) == "no n-gram in common"
    assert cause(index, QUESTION, Choice(phrase="371000"), where={"kind": "mountains"}) == "filter"
    settings = index.settings.changed(sparse_candidates=1, dense_candidates=1)
    monkeypatch.setattr(index, "settings", settings)
    view = why_view(index, QUESTION, other=Choice(phrase="371000"))
    assert view.verdict is not None
    assert view.verdict.cause == "not proposed"
    assert view.b is not None
    for road in view.b.roads:
        assert road.least is not None
        assert road.missed_by == pytest.approx(road.least - road.score)
        assert f"{road.missed_by:.2f}" in view.verdict.sentence


def test_the_first_stages_see_a_passage_as_they_say(index: Index) -> None:
    proposed = index.proposals(QUESTION)
    for rank in (1, 2):
        phrase = why_view(index, QUESTION, Choice(answer=rank)).a
        for road, hits in zip(phrase.roads, (proposed.sparse, proposed.dense), strict=True):
            found = {hit.passage_id: hit.score for hit in hits.hits}
            assert road.proposed
            assert road.score == pytest.approx(found[phrase.passage.id], rel=1e-3)


def test_causes_are_told_apart() -> None:
    names = [cause.name for cause in CAUSES]
    assert len(set(names)) == len(names)
    assert {"filtered out", "not proposed", "dense outvotes sparse", "boundary", "unknown words"} <= set(names)


def judged(index: Index, a: dict[str, object], b: dict[str, object], unknown: str = "") -> Verdict:
    """The verdict on two phrases that are both paid for, of two passages, with these fields changed."""
    view = why_view(index, QUESTION, Choice(passage="alps/0", phrase="1858"), Choice(passage="alps/1", phrase="1865"))
    assert view.b is not None
    phrases = []
    for phrase, changes in ((view.a, a), (view.b, b)):
        by_kind = {**dict.fromkeys(phrase.by_kind, 0.0), **changes.pop("by_kind", {})}  # type: ignore[dict-item]
        fixed = {"rank": None, "roads": (), "marks": view.a.marks, "by_kind": by_kind, "score": sum(by_kind.values())}
        phrases.append(replace(phrase, **(fixed | changes)))  # type: ignore[arg-type]
    pieces = view.question.pieces
    if unknown:
        pieces = (replace(pieces[0], piece="[UNK]", text=unknown), *pieces[1:])
    return verdict(replace(view.question, pieces=pieces), *phrases, {})


def test_dense_and_sparse_may_outvote_each_other(index: Index) -> None:
    dense = {"by_kind": {"dense start": 3.0, "sparse start": 1.0}}
    sparse = {"by_kind": {"dense start": 1.0, "sparse start": 2.0}}
    told = judged(index, deepcopy(dense), deepcopy(sparse))
    assert (told.cause, told.winner) == ("dense outvotes sparse", "a")
    assert "dense +2.00 for “1858”, sparse -1.00: together with the rest +1.00" in told.sentence
    assert judged(index, deepcopy(sparse), deepcopy(dense)).winner == "b"
    sparse["by_kind"]["sparse start"] = 5.0
    told = judged(index, deepcopy(dense), deepcopy(sparse))
    assert (told.cause, told.winner) == ("sparse outvotes dense", "b")
    assert "sparse +4.00 for “1865”, dense -2.00" in told.sentence
    both = {"by_kind": {"dense start": 4.0, "sparse start": 6.0}}
    assert judged(index, deepcopy(dense), both).cause == "all agree"


def test_a_word_that_the_model_does_not_know_is_named(index: Index) -> None:
    told = judged(index, {"by_kind": {"dense start": 3.0}}, {}, unknown="☃")
    assert told.cause == "unknown words"
    assert "does not know “☃” of the question" in told.sentence
    assert "By the rest “1858” leads by 3.00" in told.sentence


def test_the_part_that_decides_is_named_and_not_one_that_happens_to_agree(index: Index) -> None:
    first = {"by_kind": {"dense start": 1.25, "sparse start": 1.0, "lex": 3.0}}
    second = {"by_kind": {"dense start": 1.0, "sparse start": 2.0, "lex": 1.0}}
    told = judged(index, first, second)
    assert told.cause == "lexical outvotes sparse"
    assert "lexical +2.00 for “1858”, sparse -1.00" in told.sentence
    assert "lex_weight" in told.remedy


def test_a_verdict_names_whole_words_that_speak_for_the_winner_and_no_others(index: Index) -> None:
    asked = "When was the Eiger climbed, climbing?"
    view = why_view(index, asked, Choice(passage="alps/0", phrase="1858"), Choice(passage="alps/1", phrase="1865"))
    assert view.b is not None
    gives = {"climb": 0.5, "##ing": 1.0, "climb ##ing": 0.25, "climbed": -3.0, "the eiger": 0.5, "when": -0.5}
    parts = tuple(ScorePart("sparse start", value, name) for name, value in gives.items())
    kinds = {**dict.fromkeys(view.a.by_kind, 0.0)}
    by_kind = {**kinds, "sparse start": sum(gives.values()), "dense start": 2.0}
    a = replace(view.a, parts=parts, by_kind=by_kind, score=sum(by_kind.values()), roads=(), rank=None)
    b = replace(view.b, parts=(), by_kind=kinds, score=0.0, roads=(), rank=None, marks=())
    told = verdict(view.question, a, b, {})
    assert told.cause == "no n-gram in common"
    assert told.sentence.endswith("“climbing” (+1.75) and “the Eiger” (+0.50).")


def test_what_would_not_have_helped_is_not_advised(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "settings", index.settings.changed(sparse_candidates=1, dense_candidates=1))
    view = why_view(index, QUESTION, other=Choice(phrase="371000"))
    assert view.verdict is not None
    assert "would have lost all the same" in view.verdict.sentence
    assert "would still lose" in view.verdict.remedy
    assert view.b is not None
    better = verdict(view.question, view.a, replace(view.b, score=view.a.score + 1), {})
    assert better.cause == "not proposed"
    assert better.remedy.startswith("Let more passages be proposed")


def test_what_a_reader_decided_is_told_only_where_the_exact_score_says_otherwise(index: Index) -> None:
    first = {"rank": 1, "read_logits": ReadLogits(5.0, 4.0, 1.0), "by_kind": {"dense start": 1.0}}
    second = {"rank": 2, "read_logits": ReadLogits(2.0, 1.0, 1.0), "by_kind": {"dense start": 3.5}}
    told = judged(index, deepcopy(first), deepcopy(second))
    assert (told.cause, told.winner) == ("read", "a")
    assert "by the exact score “1865” leads by 2.50" in told.sentence
    first["by_kind"] = {"dense start": 4.0}
    told = judged(index, deepcopy(first), deepcopy(second))
    assert told.cause == "all agree"
    assert "read again already" in told.remedy
    del first["read_logits"]
    assert "read again:" in judged(index, first, second).remedy


def test_a_cure_puts_the_loser_first(index: Index) -> None:
    cured = 0
    for question in QUESTIONS:
        view = why_view(index, question, k=6)
        assert view.b is not None
        for cure in view.cures:
            factor = cure.least * 1.001 + 1e-6 if cure.most is None else (cure.least + cure.most) / 2
            scores = [_weighed(answer.by_group, cure.part, factor) for answer in view.answers]
            loser = view.b.rank if view.verdict and view.verdict.winner == "a" else view.a.rank
            assert loser is not None
            assert scores.index(max(scores)) == loser - 1
            cured += 1
    assert cured


def _weighed(parts: object, group: str, factor: float) -> float:
    assert isinstance(parts, dict)
    return sum(value * (factor if name == group else 1.0) for name, value in parts.items())


def test_json_twin(index: Index) -> None:
    for other in (None, Choice(tfidf=True)):
        twin = to_json(why_view(index, QUESTION, other=other, every=True))
        assert json.loads(json.dumps(twin, allow_nan=False)) == twin
    assert isinstance(score_view(index, QUESTION, "alps/0", 31, 35), ScoredPhrase)
