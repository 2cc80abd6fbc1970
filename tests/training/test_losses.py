"""Each loss against a version that walks over every choice."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import VOCABULARY_SIZE, tiny_network
from tiny_training import random_passages, random_states, whole_batch

from sparc_search.training.batches import Batch
from sparc_search.training.losses import (
    Gold,
    Legal,
    Logits,
    dense_logits,
    filter_loss,
    flops_loss,
    inner_words,
    legal_choices,
    lexical_margin,
    passage_loss,
    phrase_loss,
    span_loss,
    word_loss,
)
from sparc_search.training.objective import LossWeights, step_loss

LONGEST = 3
seeds = st.integers(0, 2**31)


def drawn(seed: int) -> tuple[Batch, Logits, Legal, Gold]:
    batch = whole_batch(random_passages(seed))
    passages, questions = random_states(batch, seed, ())
    legal = legal_choices(batch.answer_words, batch.allowed, LONGEST)
    return batch, dense_logits(passages, questions, LONGEST), legal, Gold(batch.owner, batch.start, batch.end)


def words_of(batch: Batch, question: int) -> Iterator[tuple[int, int]]:
    """(passage, position) of every word that may be chosen for a question."""
    for passage in range(len(batch.passage_ids)):
        if batch.allowed[question, passage]:
            for position in range(1, int(batch.passage_mask[passage].sum()) - 1):
                yield passage, position


def spans_of(batch: Batch, question: int) -> Iterator[tuple[int, int, int]]:
    words = set(words_of(batch, question))
    for passage, start in sorted(words):
        for end in range(start, start + LONGEST):
            if (passage, end) in words:
                yield passage, start, end


def cross_entropy(scores: dict[object, float], right: object) -> float:
    largest = max(scores.values())
    return largest + math.log(sum(math.exp(score - largest) for score in scores.values())) - scores[right]


@given(seeds)
@settings(max_examples=20)
def test_span_loss(seed: int) -> None:
    batch, logits, legal, gold = drawn(seed)
    values = []
    for question in range(len(batch.owner)):
        passage, start, end = (int(part[question]) for part in gold)
        if end - start < LONGEST:
            scores: dict[object, float] = {
                (p, i, j): float(
                    logits.start[question, p, i]
                    + logits.end[question, p, j]
                    + logits.span[p, i, j - i]
                    + logits.passage[question, p]
                )
                for p, i, j in spans_of(batch, question)
            }
            values.append(cross_entropy(scores, (passage, start, end)))
    assert float(span_loss(logits, legal, gold)) == pytest.approx(np.mean(values), abs=1e-3)


@given(seeds)
@settings(max_examples=20)
def test_word_loss(seed: int) -> None:
    batch, logits, legal, gold = drawn(seed)
    for words, position in ((logits.start, gold.start), (logits.end, gold.end)):
        values = []
        for question in range(len(batch.owner)):
            scores: dict[object, float] = {
                (p, i): float(words[question, p, i] + logits.passage[question, p]) for p, i in words_of(batch, question)
            }
            values.append(cross_entropy(scores, (int(gold.passage[question]), int(position[question]))))
        found = float(word_loss(words, logits, legal, gold.passage, position))
        assert found == pytest.approx(np.mean(values), abs=1e-3)


def test_phrase_loss_is_span_and_half_of_start_and_end() -> None:
    _, logits, legal, gold = drawn(5)
    words = [
        word_loss(values, logits, legal, gold.passage, position)
        for values, position in ((logits.start, gold.start), (logits.end, gold.end))
    ]
    expected = span_loss(logits, legal, gold) + 0.5 * sum(words)
    assert torch.allclose(phrase_loss(logits, legal, gold), expected)


@given(seeds)
@settings(max_examples=20)
def test_passage_loss(seed: int) -> None:
    batch, logits, legal, gold = drawn(seed)
    values = []
    for question in range(len(batch.owner)):
        allowed = batch.allowed[question].nonzero()[:, 0].tolist()
        scores: dict[object, float] = {passage: float(logits.passage[question, passage]) for passage in allowed}
        values.append(cross_entropy(scores, int(gold.passage[question])))
    assert float(passage_loss(logits.passage, legal.passages, gold.passage)) == pytest.approx(np.mean(values), abs=1e-3)


@given(seeds)
@settings(max_examples=20)
def test_filter_loss(seed: int) -> None:
    batch, _, legal, gold = drawn(seed)
    logits = random_states(batch, seed, ())[0].filter
    total, count = 0.0, 0
    for passage in range(len(batch.passage_ids)):
        length = int(batch.passage_mask[passage].sum()) - 2
        for position in range(1, length + 1):
            for side, golden in enumerate((gold.start, gold.end)):
                probability = 1 / (1 + math.exp(-float(logits[passage, position, side])))
                positive = any(
                    (int(p), int(at)) == (passage, position) for p, at in zip(gold.passage, golden, strict=True)
                )
                total -= length * math.log(probability) if positive else math.log(1 - probability)
                count += 1
    assert float(filter_loss(logits, legal.words, gold)) == pytest.approx(total / count, abs=1e-3)


def test_an_answer_longer_than_the_longest_span_counts_for_its_words_alone() -> None:
    passages = random_passages(1, count=2, questions=1, longest=9)
    for passage in passages:
        passage.questions[0].start, passage.questions[0].end = 0, len(passage.ids) - 1
    batch = whole_batch(passages)
    logits = dense_logits(*random_states(batch, 0, ()), 2)
    legal = legal_choices(batch.answer_words, batch.allowed, 2)
    gold = Gold(batch.owner, batch.start, batch.end)
    assert float(span_loss(logits, legal, gold)) == 0.0  # not nan, which would end the run
    assert float(phrase_loss(logits, legal, gold)) > 0


def test_flops_grow_with_weights_and_prefer_few() -> None:
    states = random_states(whole_batch(random_passages(2)), 2)[0]
    expected = sum(
        sum(float(values[:, :, column].mean()) ** 2 for column in range(values.shape[2]))
        for values in states.attention.values()
    )
    assert float(flops_loss(states)) == pytest.approx(expected, rel=1e-4)


def test_special_tokens_are_no_words() -> None:
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]])
    assert inner_words(mask).int().tolist() == [[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    spans = legal_choices(inner_words(mask), torch.ones(1, 3), 2).spans
    assert spans.nonzero().tolist() == [[0, 1, 0], [0, 1, 1], [0, 2, 0], [2, 1, 0]]


def test_the_margin_is_the_share_of_a_questions_rare_words_and_only_negatives_get_it() -> None:
    cls, sep, pad = 2, 3, 0
    passages = torch.tensor([[cls, 7, 8, sep], [cls, 9, sep, pad], [cls, 7, sep, pad]])
    questions = torch.tensor([[cls, 7, 9, sep], [cls, 8, sep, pad]])
    idf = torch.full((20,), 50.0)  # special tokens too: no passage has them inside
    idf[7], idf[8], idf[9] = 3.0, 2.0, 1.0
    margin = lexical_margin(passages, questions, (questions != pad).long(), idf, torch.tensor([0, 1]))
    assert margin.tolist() == [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]


def test_gradient_reaches_every_head_and_the_whole_body() -> None:
    network = tiny_network(ngrams=(1, 2, 3))
    data = random_passages(3, count=8, longest=20)
    for passage in data:
        passage.questions[0].ids = passage.ids[:8]  # n-grams of all sizes in common
    losses, vectors = step_loss(network, whole_batch(data), LossWeights(), torch.ones(VOCABULARY_SIZE), seed=1)
    losses.total.backward()  # type: ignore[no-untyped-call]
    gradients = {name: value.grad for name, value in network.named_parameters()}
    assert [name for name, gradient in gradients.items() if gradient is None] == []
    # A bias that is the same for all choices changes no softmax; matrices have no such excuse.
    sizes = {name: float(gradient.abs().max()) for name, gradient in gradients.items() if gradient.dim() > 1}
    assert [name for name, size in sizes.items() if size < 1e-5] == []
    assert float(gradients["passage_factor"].abs()) > 0
    assert not vectors.requires_grad
    assert vectors.shape == (16, 16)


def test_the_sparsity_term_counts_when_it_is_asked_for() -> None:
    network, batch = tiny_network(), whole_batch(random_passages(3))
    idf = torch.ones(VOCABULARY_SIZE)
    with torch.no_grad():
        plain, sparse = (step_loss(network, batch, LossWeights(flops=share), idf, 1)[0].total for share in (0.0, 1.0))
    assert float(sparse) > float(plain)


def test_the_margins_noise_follows_from_its_seed() -> None:
    network, batch = tiny_network(), whole_batch(random_passages(3))
    idf = torch.ones(VOCABULARY_SIZE)
    with torch.no_grad():
        values = [float(step_loss(network, batch, LossWeights(), idf, seed)[0].total) for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]
