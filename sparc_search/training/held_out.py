"""How good the model is on articles it never saw: quick, inside training. `sparc-search evaluate` is the real judge.

Answers are compared as word pieces. "Closed" looks for the answer in the question's own passage; the passage ranks
say how often the right passage comes first among 16 of like length, by passage vector and by the sparse bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from ..model.network import SparcNetwork
from .batches import Batch, Turn, make_batch, number_questions
from .losses import Gold, Legal, Logits, dense_logits, legal_choices, sparse_logits
from .objective import encode, with_sparse
from .squad_data import TrainingPassage

Measures = dict[str, float]


@torch.no_grad()
def measure(network: SparcNetwork, passages: Sequence[TrainingPassage], special: tuple[int, int, int]) -> Measures:
    """EM and F1 (in word pieces) with and without the sparse part, and both first stages' share of right passages."""
    network.eval()
    totals: Counter[str] = Counter()
    first, _ = number_questions(passages)
    device = next(network.parameters()).device
    order = sorted(range(len(passages)), key=lambda number: len(passages[number].ids))
    for at in range(0, len(order), 16):
        step = [Turn(number, list(range(len(passages[number].questions)))) for number in order[at : at + 16]]
        totals.update(measure_batch(network, make_batch(passages, first, step, special).to(device)))
    network.train()
    return {name: round(value / totals["count"], 4) for name, value in totals.items() if name != "count"}


def measure_batch(network: SparcNetwork, batch: Batch) -> Counter[str]:
    """Sums over the questions of one batch."""
    passages, questions, _ = encode(network, batch)
    dense = dense_logits(passages, questions, network.config.longest_answer)
    sparse = sparse_logits(passages, questions, batch.passage_ids, batch.question_ids, batch.answer_words)
    own = torch.nn.functional.one_hot(batch.owner, len(batch.passage_ids)).bool()
    legal = legal_choices(batch.answer_words, own, network.config.longest_answer)
    gold = Gold(batch.owner, batch.start, batch.end)
    full = with_sparse(dense, sparse, torch.zeros_like(dense.passage))
    totals: Counter[str] = Counter(count=len(batch.owner))
    for name, logits in (("", full), ("_dense_only", dense)):
        totals.update(answer_scores(logits, legal, gold, batch.passage_ids, name))
    totals["passage_first_vector"] = int((dense.passage.argmax(1) == batch.owner).sum())
    totals["passage_first_bound"] = int((sparse.bound.argmax(1) == batch.owner).sum())
    return totals


def answer_scores(logits: Logits, legal: Legal, gold: Gold, passage_ids: Tensor, name: str) -> Counter[str]:
    """EM and F1 of the best span of each question's own passage."""
    totals: Counter[str] = Counter()
    for question in range(len(gold.passage)):
        passage = int(gold.passage[question])
        start, end = best_span(logits, legal, question, passage)
        tokens = passage_ids[passage]
        found = tokens[start : end + 1].tolist()
        right = tokens[int(gold.start[question]) : int(gold.end[question]) + 1].tolist()
        totals[f"em{name}"] += found == right
        common = sum((Counter(found) & Counter(right)).values())
        totals[f"f1{name}"] += 2 * common / (len(found) + len(right))  # type: ignore[assignment]
    return totals


def best_span(logits: Logits, legal: Legal, question: int, passage: int) -> tuple[int, int]:
    """Positions of the best legal span of one passage."""
    span = logits.span[passage]  # (T, L)
    longest = span.shape[1]
    ends = torch.nn.functional.pad(logits.end[question, passage], (0, longest - 1)).unfold(0, longest, 1)
    scores = (logits.start[question, passage][:, None] + ends + span).masked_fill(~legal.spans[passage], -1e9)
    best = int(scores.argmax())
    return best // longest, best // longest + best % longest
