"""An epoch meets every passage once, and a batch says what the data says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny_training import CLS, CLS_SEP_PAD, PAD, SEP, random_passages, whole_batch

from sparc_search.training.batches import (
    BatchShape,
    Turn,
    batches,
    holds,
    make_batch,
    number_questions,
    padded,
    plan_epoch,
)
from sparc_search.training.squad_data import TrainingPassage, TrainingQuestion


def neighbours_of(count: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [[other for other in rng.permutation(count)[:4].tolist() if other != number] for number in range(count)]


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 5))
@settings(max_examples=40)
def test_every_passage_exactly_once(count: int, passages: int, group: int, questions: int, seed: int) -> None:
    data = random_passages(seed, count, questions=2, longest=30)
    shape = BatchShape(passages, group, questions)
    steps = plan_epoch(data, neighbours_of(count, seed), shape, seed, 0)
    assert sorted(number for step in steps for number, *_ in step) == list(range(count))
    for step in steps:
        assert 1 <= len(step) <= max(passages, group)
        for _, asked, *_ in step:
            assert len(asked) == min(questions, 2)
            assert asked == sorted(set(asked))


def test_a_plan_follows_from_seed_and_epoch() -> None:
    data = random_passages(0, 30, longest=30)
    near = neighbours_of(30, 0)
    plans = [plan_epoch(data, near, BatchShape(), *numbers) for numbers in ((1, 0), (1, 0), (1, 1), (2, 0))]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]
    assert plans[0] != plans[3]


def test_neighbours_share_a_step() -> None:
    data = random_passages(0, 30, longest=30)
    near = [[number ^ 1] for number in range(30)]  # pairs
    for step in plan_epoch(data, near, BatchShape(passages=4, group=2), 1, 0):
        members = {number for number, *_ in step}
        assert all(number ^ 1 in members for number in members)


def test_lengths_in_a_step_are_alike() -> None:
    rng = np.random.default_rng(0)
    data = [passage for seed in range(60) for passage in random_passages(seed, 1, longest=int(rng.integers(3, 200)))]
    steps = plan_epoch(data, [[]] * 60, BatchShape(passages=6, group=1), 1, 0)
    spread = [max(lengths) - min(lengths) for lengths in ([len(data[n].ids) for n, *_ in step] for step in steps)]
    assert np.mean(spread) < 40  # at random it would be over 100


def test_a_weight_below_one_is_a_chance() -> None:
    data = random_passages(0, 400, questions=1)
    for passage in data[:200]:
        passage.weight = 0.25
    plans = [plan_epoch(data, [[]] * 400, BatchShape(), 3, epoch) for epoch in range(4)]
    drawn = [[number for step in plan for number, *_ in step] for plan in plans]
    assert all(len(set(numbers)) == len(numbers) for numbers in drawn)
    assert all(set(range(200, 400)) <= set(numbers) for numbers in drawn)
    assert 30 < np.mean([len(numbers) - 200 for numbers in drawn]) < 70


def test_what_a_batch_says() -> None:
    ids = [np.asarray(row, np.int32) for row in ([7, 8, 9], [10, 8, 9, 11, 12])]
    data = [
        TrainingPassage(ids[0], "a", 1.0, [TrainingQuestion("q0", np.asarray([7], np.int32), 1, 2)]),
        TrainingPassage(
            ids[1],
            "b",
            1.0,
            [
                TrainingQuestion("q1", np.asarray([11, 12], np.int32), 3, 3),
                TrainingQuestion("q2", np.asarray([8], np.int32), 1, 1),
            ],
        ),
    ]
    first, owner = number_questions(data)
    assert (first.tolist(), owner.tolist()) == ([0, 1], [0, 1, 1])
    batch = make_batch(data, first, [Turn(1, [0, 1]), Turn(0, [0])], CLS_SEP_PAD)
    assert batch.passage_ids.tolist() == [[CLS, 10, 8, 9, 11, 12, SEP], [CLS, 7, 8, 9, SEP, PAD, PAD]]
    assert batch.passage_mask.tolist() == [[1] * 7, [1, 1, 1, 1, 1, 0, 0]]
    assert batch.question_ids.tolist() == [[CLS, 11, 12, SEP], [CLS, 8, SEP, PAD], [CLS, 7, SEP, PAD]]
    assert batch.owner.tolist() == [0, 0, 1]
    assert batch.start.tolist() == [4, 2, 2]
    assert batch.end.tolist() == [4, 2, 3]
    # q1's answer 11 stands only in its own passage; 8 and (8, 9) stand in the other one too, so that is no negative
    assert batch.allowed.tolist() == [[True, True], [True, False], [False, True]]
    assert batch.question_numbers.tolist() == [1, 2, 0]


def test_a_title_is_read_before_its_passage_and_answers_nothing() -> None:
    def array(*ids: int) -> NDArray[np.int32]:
        return np.asarray(ids, np.int32)

    asked = [TrainingQuestion("q", array(7), 1, 2)]
    data = [
        TrainingPassage(array(7, 8, 9), "a", 1.0, asked, array(20, 21)),
        TrainingPassage(array(7, 8), "b", 1.0, asked[:0]),
    ]
    first, _ = number_questions(data)
    batch = make_batch(data, first, [Turn(0, [0]), Turn(1, [])], CLS_SEP_PAD)
    assert batch.passage_ids.tolist() == [[CLS, 20, 21, SEP, 7, 8, 9, SEP], [CLS, 7, 8, SEP, PAD, PAD, PAD, PAD]]
    assert batch.answer_words.int().tolist() == [[0, 0, 0, 0, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0]]
    assert (batch.start.tolist(), batch.end.tolist()) == ([5], [6])
    batch = make_batch(data, first, [Turn(0, [0], titled=False)], CLS_SEP_PAD)
    assert batch.passage_ids.tolist() == [[CLS, 7, 8, 9, SEP]]


def test_titles_are_left_out_by_chance_and_nothing_else_changes() -> None:
    data = random_passages(7, 200)
    plans = [plan_epoch(data, [[]] * 200, BatchShape(), 1, 0, share) for share in (0.0, 0.7, 1.0)]
    shares = [np.mean([turn.titled for step in plan for turn in step]) for plan in plans]
    assert shares[0] == 0
    assert 0.55 < shares[1] < 0.85
    assert shares[2] == 1
    bare = [[[turn[:2] for turn in step] for step in plan] for plan in plans]
    assert bare[0] == bare[1] == bare[2]


def test_gold_positions_point_at_the_answer() -> None:
    data = random_passages(4, 6, questions=3)
    batch = whole_batch(data)
    questions = [question for passage in data for question in passage.questions]
    for at, question in enumerate(questions):
        passage = int(batch.owner[at])
        found = batch.passage_ids[passage, batch.start[at] : batch.end[at] + 1].tolist()
        assert found == data[passage].ids[question.start : question.end + 1].tolist()


@pytest.mark.parametrize(
    ("passage", "answer", "expected"),
    [
        ([5, 6, 7], [6, 7], True),
        ([5, 6, 7], [5], True),
        ([5, 6, 7], [5, 7], False),
        ([100 * 256 + 5, 4 * 256], [100], False),  # the bytes of 100 stand across two ids
        ([100 * 256 + 5, 4 * 256, 100], [100], True),
        ([], [5], False),
    ],
)
def test_an_answer_is_found_by_ids_not_by_bytes(passage: list[int], answer: list[int], expected: bool) -> None:
    assert holds(np.asarray(passage, np.int32).tobytes(), np.asarray(answer, np.int32).tobytes()) is expected


def test_padding_is_as_wide_as_the_longest() -> None:
    ids, mask = padded([np.asarray([9], np.int32), np.asarray([7, 8], np.int32)], CLS_SEP_PAD)
    assert ids.tolist() == [[CLS, 9, SEP, PAD], [CLS, 7, 8, SEP]]
    assert mask.tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_a_stream_of_batches_is_each_step_in_turn() -> None:
    data = random_passages(0, 5)
    first, _ = number_questions(data)
    steps = plan_epoch(data, [[]] * 5, BatchShape(passages=2, group=1), 0, 0)
    made = list(batches(data, first, steps, CLS_SEP_PAD))
    assert [len(batch.passage_ids) for batch in made] == [len(step) for step in steps]
    moved = made[0].to(made[0].owner.device)
    assert moved.passage_ids.equal(made[0].passage_ids)
    assert moved.question_numbers is made[0].question_numbers
