"""One training step's loss: every question of the batch against every passage of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..model.network import PassageStates, QuestionStates, SparcNetwork
from .batches import Batch
from .losses import (
    Gold,
    Legal,
    Logits,
    SparseLogits,
    dense_logits,
    filter_loss,
    flops_loss,
    gold_scores,
    legal_choices,
    lexical_margin,
    passage_loss,
    phrase_loss,
    sparse_logits,
    teacher_loss,
    trap_loss,
)
from .packing import packed_states


@dataclass(frozen=True, slots=True)
class LossWeights:
    """How much each part of the loss counts. The phrase losses on full and on dense-only logits count 1 each."""

    passage: float = 1.0
    bound: float = 0.5
    filter: float = 0.25
    flops: float = 0.0
    teacher: float = 1.0  # of starts and of ends, where a teacher was asked
    traps: float = 0.25
    lexical_margin: float = 2.0  # in logits, for a negative that holds all of the question's words
    margin_noise: float = 0.5  # share of the margin that is drawn by chance


class Losses(NamedTuple):
    """The parts of one step's loss, before their weights."""

    total: Tensor
    full: Tensor
    dense: Tensor
    passage: Tensor
    bound: Tensor
    filter: Tensor
    teacher: Tensor
    traps: Tensor


def step_loss(
    network: SparcNetwork,
    batch: Batch,
    weights: LossWeights,
    idf: Tensor,
    seed: int,
    states: Callable[..., list[Tensor]] = packed_states,
) -> tuple[Losses, Tensor]:
    """The loss of a batch, and its question vectors (Q, 2d) for the mining of the next epoch's negatives."""
    passages, questions, traps = encode(network, batch, states)
    longest = network.config.longest_answer
    dense = dense_logits(passages, questions, longest)
    sparse = sparse_logits(passages, questions, batch.passage_ids, batch.question_ids, batch.answer_words)
    legal = legal_choices(batch.answer_words, batch.allowed, longest)
    gold = Gold(batch.owner, batch.start, batch.end)
    margin = noisy_margin(batch, weights, idf, seed)
    whole = with_sparse(dense, sparse, torch.zeros_like(margin))
    nothing = dense.start.new_zeros(())
    parts = (
        phrase_loss(with_sparse(dense, sparse, margin), legal, gold),
        phrase_loss(dense, legal, gold),
        passage_loss(dense.passage, legal.passages, gold.passage),
        passage_loss(sparse.bound, legal.passages, gold.passage),
        filter_loss(passages.filter, legal.words, gold),
        both_sides(whole, legal, batch) if batch.taught else nothing,
        trapped(whole, passages, traps, batch, legal, gold) if traps else nothing,
    )
    full, dense_only, passage, bound, filtered, taught, deceived = parts
    total = full + dense_only + weights.passage * passage + weights.bound * bound + weights.filter * filtered
    total = total + weights.teacher * taught + weights.traps * deceived
    if weights.flops:
        total = total + weights.flops * flops_loss(passages)
    vectors = torch.cat([questions.start, questions.end], 1).detach()
    return Losses(total, *parts), vectors


def both_sides(logits: Logits, legal: Legal, batch: Batch) -> Tensor:
    """The teacher's word on starts and ends."""
    assert batch.taught
    places, shares = batch.taught
    return sum_of(
        teacher_loss(words, legal, batch.owner, places[:, side], shares[:, side])
        for side, words in enumerate((logits.start, logits.end))
    )


def trapped(
    logits: Logits, passages: PassageStates, traps: QuestionStates, batch: Batch, legal: Legal, gold: Gold
) -> Tensor:
    """The loss of questions without an answer, against what right answers score.

    Their passage is about what they ask, and must stay found: only its words learn to say no.
    """
    assert batch.traps
    dense = dense_logits(passages, traps, logits.span.shape[2])
    dense = dense._replace(passage=dense.passage.detach())
    sparse = sparse_logits(passages, traps, batch.passage_ids, batch.traps.ids, batch.answer_words)
    asked = with_sparse(dense, sparse, torch.zeros_like(dense.passage))
    return trap_loss(asked, legal, batch.traps.owner, gold_scores(logits, gold))


def sum_of(parts: Iterable[Tensor]) -> Tensor:
    """Their sum."""
    return torch.stack(list(parts)).sum()


def with_sparse(dense: Logits, sparse: SparseLogits, margin: Tensor) -> Logits:
    """The full logits: dense + sparse (+ the margin of negatives, in training)."""
    return Logits(dense.start + sparse.start, dense.end + sparse.end, dense.span, dense.passage + margin)


def noisy_margin(batch: Batch, weights: LossWeights, idf: Tensor, seed: int) -> Tensor:
    """The lexical margin of the negatives, partly by chance: (Q, P). Seeded by step: a resumed run draws the same."""
    margin = lexical_margin(batch.passage_ids, batch.question_ids, batch.question_mask, idf, batch.owner)
    chance = torch.rand(margin.shape, generator=torch.Generator().manual_seed(seed)).to(margin.device)
    return weights.lexical_margin * margin * (1 - weights.margin_noise * chance)


def encode(
    network: SparcNetwork, batch: Batch, states: Callable[..., list[Tensor]] = packed_states
) -> tuple[PassageStates, QuestionStates, QuestionStates | None]:
    """Network outputs of passages, questions and traps; all go through the body in one call."""
    groups = [(batch.passage_ids, batch.passage_mask), (batch.question_ids, batch.question_mask)]
    if batch.traps:
        groups.append((batch.traps.ids, batch.traps.mask))
    passage_states, *asked = states(network, *groups)
    questions = [network.question_heads(found, *group) for found, group in zip(asked, groups[1:], strict=True)]
    return (
        network.passage_heads(passage_states, batch.passage_ids, batch.passage_mask),
        questions[0],
        questions[1] if batch.traps else None,
    )
