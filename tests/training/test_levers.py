"""What a run may be told beside its rate: a teacher, traps, heading paths, frozen layers, dropout, bf16."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import random_ids, tiny_network, tiny_pieces
from tiny_training import CLS_SEP_PAD, random_passages, random_states, whole_batch

from sparc_search.errors import UsageError
from sparc_search.squad import SquadFile, paragraphs_of
from sparc_search.training import arithmetic
from sparc_search.training.arithmetic import chosen_arithmetic
from sparc_search.training.batches import BatchShape, Traps, Turn, make_batch, number_questions, plan_epoch
from sparc_search.training.freezing import freeze
from sparc_search.training.heading_paths import ARROW, HeadingPaths
from sparc_search.training.loop import Training, TrainingSettings
from sparc_search.training.losses import (
    Gold,
    dense_logits,
    gold_scores,
    legal_choices,
    sparse_logits,
    teacher_loss,
    trap_loss,
)
from sparc_search.training.objective import trapped, with_sparse
from sparc_search.training.squad_data import TrainingPassage, passages_of
from sparc_search.training.teacher import Taught

SETTINGS = TrainingSettings(
    steps=6, rate=1e-3, warm_up=2, cool_down=2, checkpoint_every=2, evaluate_every=100, batch=BatchShape(4, 2, 2)
)


def all_levers(seed: int = 0) -> list[TrainingPassage]:
    """Passages with titles, traps and a teacher's word on half of the questions."""
    rng = np.random.default_rng(seed)
    passages = random_passages(seed, 10, 3)
    for passage in passages:
        passage.title = random_ids(rng, 2, 12)
        passage.traps = [random_ids(rng, 4, 12)]
        for question in passage.questions[::2]:
            places = rng.integers(0, len(passage.ids), (2, 3))
            question.taught = Taught(places, np.full((2, 3), 0.3, np.float32))
    return passages


def run(settings: TrainingSettings, checkpoint: Path | None = None, stop: int = 100) -> Training:
    paths = HeadingPaths(tiny_pieces())
    training = Training(tiny_network(), all_levers(), [], CLS_SEP_PAD, settings, checkpoint, paths=paths)
    if checkpoint and checkpoint.exists():
        training.resume()
    training.run(lambda news: None, lambda: training.step >= stop)
    return training


def test_all_together_resume_bit_for_bit(tmp_path: Path) -> None:
    settings = replace(SETTINGS, dropout=0.2, paths=0.5, freeze_layers=1)
    whole = run(settings)
    assert all(row["teacher"] > 0 and row["traps"] > 0 for row in whole.history)
    run(settings, tmp_path / "checkpoint", stop=3)
    resumed = run(settings, tmp_path / "checkpoint")
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[name]), name
    assert resumed.history == whole.history
    with pytest.raises(UsageError, match="freeze_layers"):
        run(SETTINGS, tmp_path / "checkpoint")


def test_frozen_layers_stay_and_keep_nothing_for_going_back() -> None:
    training = Training(tiny_network(), all_levers(), [], CLS_SEP_PAD, replace(SETTINGS, freeze_layers=1))
    before = {name: value.detach().clone() for name, value in training.network.named_parameters()}
    training.run(lambda news: None)
    same = {name for name, value in training.network.named_parameters() if torch.equal(value, before[name])}
    assert same == {name for name in before if name.startswith(("body.embeddings.", "body.encoder.layer.0."))}
    ids = torch.full((1, 4), 20)
    hidden = training.network.body(input_ids=ids, output_hidden_states=True).hidden_states
    assert [state.requires_grad for state in hidden] == [False, False, True]
    with pytest.raises(UsageError, match="2 layers"):
        freeze(tiny_network().body, 3)


def test_the_teachers_loss_is_the_divergence() -> None:
    batch = whole_batch(random_passages(3))
    passages, questions = random_states(batch, 1)
    logits = dense_logits(passages, questions, 4)
    legal = legal_choices(batch.answer_words, batch.allowed, 4)
    count = len(batch.owner)
    places = torch.ones((count, 2), dtype=torch.long)
    places[:, 1] = 2
    shares = torch.tensor([[0.6, 0.2]] * count)
    shares[0] = 0
    slow = []
    for question in range(1, count):
        row = int(batch.owner[question])
        words = logits.start[question, row][legal.words[row]]  # the first word stands behind [CLS]
        own = torch.log_softmax(words, 0)[:2]
        wanted = torch.tensor([0.75, 0.25])
        slow.append((wanted * (wanted.log() - own)).sum())
    found = teacher_loss(logits.start, legal, batch.owner, places, shares)
    assert float(found) == pytest.approx(float(torch.stack(slow).mean()), rel=1e-5)
    assert float(teacher_loss(logits.start, legal, batch.owner, places, shares * 0)) == 0


def test_the_best_phrase_of_a_trap_is_pushed_below_right_answers() -> None:
    batch = whole_batch(random_passages(5))
    passages, questions = random_states(batch, 2)
    dense = dense_logits(passages, questions, 4)
    sparse = sparse_logits(passages, questions, batch.passage_ids, batch.question_ids, batch.answer_words)
    logits = with_sparse(dense, sparse, torch.zeros_like(dense.passage))
    legal = legal_choices(batch.answer_words, batch.allowed, 4)
    right = gold_scores(logits, Gold(batch.owner, batch.start, batch.end))
    slow = []
    for question in range(len(batch.owner)):
        row = int(batch.owner[question])
        spans = [
            logits.start[question, row, i] + logits.end[question, row, i + width] + logits.span[row, i, width]
            for i in range(legal.spans.shape[1])
            for width in range(4)
            if legal.spans[row, i, width]
        ]
        best = torch.stack(spans).max() + logits.passage[question, row]
        slow.append(torch.nn.functional.softplus(best - right.mean() + 2.0))
    found = trap_loss(logits, legal, batch.owner, right)
    assert float(found) == pytest.approx(float(torch.stack(slow).mean()), rel=1e-5)


def test_a_trap_leaves_its_passage_found() -> None:
    """The passage is about what a trap asks; only its words learn to say no."""
    batch = whole_batch(random_passages(5))
    batch.traps = Traps(batch.question_ids, batch.question_mask, batch.owner)
    passages, questions = random_states(batch, 2)
    pooled, start = passages.pooled.requires_grad_(), passages.start.requires_grad_()
    dense = dense_logits(passages, questions, 4)
    legal = legal_choices(batch.answer_words, batch.allowed, 4)
    gold = Gold(batch.owner, batch.start, batch.end)
    trapped(dense, passages, questions, batch, legal, gold).backward()
    assert pooled.grad is None
    assert start.grad is not None
    assert start.grad.abs().sum() > 0


def test_traps_and_what_was_taught_come_from_the_files() -> None:
    context = "lake river dome was built in 1882"
    questions = [
        {"id": "1", "question": "when", "answers": [{"text": "1882", "answer_start": context.index("1882")}]},
        {"id": "2", "question": "river built", "answers": [], "is_impossible": True},
        {"id": "3", "question": "no answer is given, nor said to be missing", "answers": []},
    ]
    article = {"title": "t", "paragraphs": [{"context": context, "qas": questions}]}
    file = SquadFile(Path("a.json"), "", tuple(paragraphs_of(article)))
    asked: list[tuple[str, str]] = []

    def teacher(question: str, paragraph: str) -> Taught:
        asked.append((question, paragraph))
        return Taught(np.array([[6, 0], [6, 1]]), np.array([[0.9, 0.1], [0.8, 0.1]], np.float32))

    [passage] = passages_of([file], tiny_pieces(), 40, 12, 0, teacher)  # type: ignore[arg-type]
    assert asked == [("when", context)]
    assert len(passage.questions) == len(passage.traps) == 1
    batch = make_batch([passage], number_questions([passage])[0], [Turn(0, [0], False, [0])], CLS_SEP_PAD)
    assert batch.taught is not None
    assert batch.taught.places.tolist() == [[[7, 1], [7, 2]]]
    assert batch.traps is not None
    assert batch.traps.owner.tolist() == [0]
    moved = batch.to(torch.device("cpu"))
    assert moved.taught is not None
    assert torch.equal(moved.taught.shares, batch.taught.shares)


def test_heading_paths_begin_with_the_title_and_hold_no_answer() -> None:
    pieces = tiny_pieces()
    arrow = pieces([ARROW])[0].ids.tolist()
    paths, rng = HeadingPaths(pieces), np.random.default_rng(0)
    [passage] = random_passages(1, 1, 1)
    passage.questions[0].start, passage.questions[0].end = 0, len(passage.ids) - 1
    for _ in range(30):
        path = paths.draw(passage, rng).tolist()
        assert path[: len(arrow)] == arrow
        assert path.count(arrow[0]) == 1  # all words of the passage are the answer: no term
    passages = all_levers()
    plan = plan_epoch(passages, [[] for _ in passages], BatchShape(4, 2, 2), 1, 0, 1.0, paths, 1.0)
    assert all(turn.path for step in plan for turn in step)
    plain = plan_epoch(passages, [[] for _ in passages], BatchShape(4, 2, 2), 1, 0, 1.0)
    assert [[turn[:3] for turn in step] for step in plan] == [[turn[:3] for turn in step] for step in plain]
    turn = plan[0][0]
    batch = make_batch(passages, number_questions(passages)[0], [turn], CLS_SEP_PAD)
    head = [*passages[turn.passage].title.tolist(), *turn.path]
    assert batch.passage_ids[0, 1 : len(head) + 1].tolist() == head


def test_bf16_learns_what_fp32_learns() -> None:
    if arithmetic._share_of_fp32() is None:  # a processor that claims it and cannot
        with pytest.raises(UsageError, match="ONEDNN_MAX_CPU_ISA"):
            chosen_arithmetic("bf16", "cpu")
        return
    exact, quick = run(SETTINGS), run(replace(SETTINGS, mixed_precision=True))
    for one, other in zip(exact.history, quick.history, strict=True):
        assert other["total"] == pytest.approx(one["total"], rel=0.05)


def test_arithmetic_has_few_names() -> None:
    with pytest.raises(UsageError, match="fp16"):
        chosen_arithmetic("fp16", "cpu")
    assert chosen_arithmetic("fp32", "cpu") == "fp32"


@pytest.mark.parametrize(("share", "chosen"), [(0.5, "bf16"), (0.9, "fp32"), (None, "fp32")])
def test_bf16_is_chosen_where_it_works_and_is_quick(
    monkeypatch: pytest.MonkeyPatch, share: float | None, chosen: str
) -> None:
    monkeypatch.setattr(arithmetic, "_share_of_fp32", lambda: share)
    assert chosen_arithmetic("auto", "cpu") == chosen
    assert chosen_arithmetic("auto", "cuda") == "fp32"
    if share is not None:
        assert chosen_arithmetic("bf16", "cpu") == "bf16"
