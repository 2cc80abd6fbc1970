"""One training step's loss: every question of the batch against every passage of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..model.network import PassageStates, QuestionStates, SparcNetwork
from .batches import Batch
from .losses import (
    Gold,
    Logits,
    SparseLogits,
    dense_logits,
    filter_loss,
    flops_loss,
    legal_choices,
    lexical_margin,
    passage_loss,
    phrase_loss,
    sparse_logits,
)
from .packing import packed_states


@dataclass(frozen=True, slots=True)
class LossWeights:
    """How much each part of the loss counts. The phrase losses on full and on dense-only logits count 1 each."""

    passage: float = 1.0
    bound: float = 0.5
    filter: float = 0.25
    flops: float = 0.0
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


def step_loss(
    network: SparcNetwork,
    batch: Batch,
    weights: LossWeights,
    idf: Tensor,
    seed: int,
    states: Callable[..., list[Tensor]] = packed_states,
) -> tuple[Losses, Tensor]:
    """The loss of a batch, and its question vectors (Q, 2d) for the mining of the next epoch's negatives."""
    passages, questions = encode(network, batch, states)
    dense = dense_logits(passages, questions, network.config.longest_answer)
    sparse = sparse_logits(passages, questions, batch.passage_ids, batch.question_ids, batch.answer_words)
    legal = legal_choices(batch.answer_words, batch.allowed, network.config.longest_answer)
    gold = Gold(batch.owner, batch.start, batch.end)
    margin = noisy_margin(batch, weights, idf, seed)
    parts = (
        phrase_loss(with_sparse(dense, sparse, margin), legal, gold),
        phrase_loss(dense, legal, gold),
        passage_loss(dense.passage, legal.passages, gold.passage),
        passage_loss(sparse.bound, legal.passages, gold.passage),
        filter_loss(passages.filter, legal.words, gold),
    )
    full, dense_only, passage, bound, filtered = parts
    total = full + dense_only + weights.passage * passage + weights.bound * bound + weights.filter * filtered
    if weights.flops:
        total = total + weights.flops * flops_loss(passages)
    vectors = torch.cat([questions.start, questions.end], 1).detach()
    return Losses(total, *parts), vectors


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
) -> tuple[PassageStates, QuestionStates]:
    """Network outputs of a batch; passages and questions go through the body in one call."""
    passage_states, question_states = states(
        network, (batch.passage_ids, batch.passage_mask), (batch.question_ids, batch.question_mask)
    )
    return (
        network.passage_heads(passage_states, batch.passage_ids, batch.passage_mask),
        network.question_heads(question_states, batch.question_ids, batch.question_mask),
    )
