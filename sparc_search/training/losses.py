"""The losses, each a small function that names its equation. All are sums of inner products, on one scale.

Shapes: P passages, T passage tokens, Q questions, M question tokens, L longest answer.
`logits[q, p, i]` always means question q against position i of passage p: every question meets every passage of
the batch, its own and the others, so the softmax below runs over the spans of *all* of them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..model.network import PassageStates, QuestionStates

NEVER = -1e9


class Logits(NamedTuple):
    """Word-level logits of questions against passages, and the part that belongs to pairs of words."""

    start: Tensor  # (Q, P, T)
    end: Tensor  # (Q, P, T)
    span: Tensor  # (P, T, L) coherency of a start and the end l tokens later
    passage: Tensor  # (Q, P)


def dense_logits(passages: PassageStates, questions: QuestionStates, longest: int) -> Logits:
    """dense(i, j) = s_i.q_s + e_j.q_e + a_i.b_j + p.q_p, in its parts."""
    return Logits(
        torch.einsum("ptd,qd->qpt", passages.start, questions.start),
        torch.einsum("ptd,qd->qpt", passages.end, questions.end),
        coherency(passages.span_start, passages.span_end, longest),
        questions.pooled @ passages.pooled.T,
    )


def coherency(span_start: Tensor, span_end: Tensor, longest: int) -> Tensor:
    """a_i.b_{i+l} for l < longest: (P, T, c) twice -> (P, T, L). Ends beyond the passage get 0 and are masked later."""
    padded = functional.pad(span_end, (0, 0, 0, longest - 1))  # (P, T + L - 1, c)
    return torch.einsum("ptc,ptcl->ptl", span_start, padded.unfold(1, longest, 1))


def ngram_matches(passage_ids: Tensor, question_ids: Tensor, n: int) -> Tensor:
    """The kernel F F'^T (eq. 2): 1 where the n-grams at passage position i and question position m are equal.

    (P, T), (Q, M) -> (Q, M, P, T). Masks of special tokens are already in the weights on both sides.
    """
    equal = question_ids[:, :, None, None] == passage_ids[None, None]  # (Q, M, P, T)
    matches = equal
    for shift in range(1, n):
        matches = matches & torch.roll(equal, (-shift, -shift), (1, 3))  # wrapped ends are masked by the weights
    return matches


class SparseLogits(NamedTuple):
    """The sparse part of each word, and the bound of it that the inverted index will see."""

    start: Tensor  # (Q, P, T)
    end: Tensor  # (Q, P, T)
    bound: Tensor  # (Q, P) sum over n-grams of question weight times the largest weight in the passage, both sides


def sparse_logits(
    passages: PassageStates, questions: QuestionStates, passage_ids: Tensor, question_ids: Tensor, words: Tensor
) -> SparseLogits:
    """s_i.s'_[CLS] for start and end (eq. 2), never leaving positions for n-gram space.

    `words` (P, T) are those an answer may consist of: [CLS], [SEP], padding and title bound no phrase.
    """
    shape = (len(question_ids), *passage_ids.shape)
    sides = {side: passage_ids.new_zeros(shape, dtype=passages.start.dtype) for side in ("start", "end")}
    bound = passages.start.new_zeros(shape[:2])
    sizes = sorted({int(name.rsplit("_", 1)[1]) for name in passages.attention})
    matches = {n: ngram_matches(passage_ids, question_ids, n).to(passages.start.dtype) for n in sizes}
    rows = words.to(passages.start.dtype)[:, :, None]
    for name, attention in passages.attention.items():
        side, n = name.rsplit("_", 1)
        asked = torch.einsum(
            "qmpt,qm->qpt", matches[int(n)], questions.weights[name]
        )  # question weight at each position
        attention = attention * rows
        sides[side] = sides[side] + torch.einsum("pij,qpj->qpi", attention, asked)
        bound = bound + torch.einsum("pj,qpj->qp", attention.amax(1), asked)
    return SparseLogits(sides["start"], sides["end"], bound)


class Gold(NamedTuple):
    """Where the answer of each question is."""

    passage: Tensor  # (Q,)
    start: Tensor  # (Q,)
    end: Tensor  # (Q,)


class Legal(NamedTuple):
    """What a softmax may choose from."""

    words: Tensor  # (P, T) real word pieces
    spans: Tensor  # (P, T, L) pairs of them in one passage
    passages: Tensor  # (Q, P) False where a passage is neither right nor wrong for a question


def inner_words(mask: Tensor) -> Tensor:
    """Real word pieces: what stands between [CLS] and [SEP]. (B, T) -> (B, T)."""
    words = mask.bool().clone()
    words[:, 0] = False
    return words.scatter(1, mask.sum(1, keepdim=True) - 1, False)


def legal_choices(words: Tensor, allowed: Tensor, longest: int) -> Legal:
    """The words an answer may consist of (P, T); spans of at most `longest` of them."""
    ends = functional.pad(words, (0, longest - 1)).unfold(1, longest, 1)
    return Legal(words, words[:, :, None] & ends, allowed)


def span_loss(logits: Logits, legal: Legal, gold: Gold) -> Tensor:
    """-log softmax of the gold span over all legal spans of all passages (the paper's final loss).

    Questions whose answer is longer than L have no legal gold span and are left out here, not in `word_loss`.
    """
    longest = logits.span.shape[2]
    short = (gold.end - gold.start < longest).nonzero()[:, 0]
    ends = functional.pad(logits.end[short], (0, longest - 1)).unfold(2, longest, 1)  # (Q, P, T, L)
    scores = logits.start[short][..., None] + ends + logits.span + logits.passage[short][:, :, None, None]
    scores = scores.masked_fill(~(legal.spans[None] & legal.passages[short][:, :, None, None]), NEVER)
    start, end = gold.start[short], gold.end[short]
    right = scores[torch.arange(len(short)), gold.passage[short], start, end - start]
    return (scores.flatten(1).logsumexp(1) - right).sum() / max(1, len(short))


def word_loss(words: Tensor, logits: Logits, legal: Legal, owner: Tensor, position: Tensor) -> Tensor:
    """Cross entropy of the gold start (or end) over all words of all passages."""
    scores = words + logits.passage[:, :, None]
    scores = scores.masked_fill(~(legal.words[None] & legal.passages[:, :, None]), NEVER)
    right = owner * words.shape[2] + position
    return functional.cross_entropy(scores.flatten(1), right)


def phrase_loss(logits: Logits, legal: Legal, gold: Gold) -> Tensor:
    """Span cross entropy + half of start and end cross entropy."""
    start = word_loss(logits.start, logits, legal, gold.passage, gold.start)
    end = word_loss(logits.end, logits, legal, gold.passage, gold.end)
    return span_loss(logits, legal, gold) + 0.5 * (start + end)


def teacher_loss(words: Tensor, legal: Legal, owner: Tensor, places: Tensor, shares: Tensor) -> Tensor:
    """KL divergence from a teacher's starts (or ends) to the model's, inside the question's own passage.

    `places` and `shares` (Q, K) are the teacher's likeliest, taken as the whole; a question without any counts nothing.
    """
    own = words[torch.arange(len(owner)), owner].masked_fill(~legal.words[owner], NEVER)  # (Q, T)
    total = shares.sum(1, keepdim=True)
    wanted = shares / total.clamp(min=1e-9)
    found = functional.log_softmax(own, 1).gather(1, places)
    divergence = (torch.special.xlogy(wanted, wanted) - wanted * found).sum(1)
    return divergence.sum() / (total > 0).sum().clamp(min=1)


def gold_scores(logits: Logits, gold: Gold) -> Tensor:
    """The score of each question's gold phrase: (Q,). A phrase longer than L lacks its span part."""
    rows, longest = torch.arange(len(gold.passage)), logits.span.shape[2]
    length = gold.end - gold.start
    span = logits.span[gold.passage, gold.start, length.clamp(max=longest - 1)] * (length < longest)
    words = logits.start[rows, gold.passage, gold.start] + logits.end[rows, gold.passage, gold.end]
    return words + span + logits.passage[rows, gold.passage]


def trap_loss(logits: Logits, legal: Legal, owner: Tensor, right: Tensor, margin: float = 2.0) -> Tensor:
    """No phrase of its passage may win a question that has no answer there: the best stays below right answers.

    `right` is what right answers of the batch score. Confidence is made of scores, so this teaches it to doubt.
    """
    rows, longest = torch.arange(len(owner)), logits.span.shape[2]
    ends = functional.pad(logits.end[rows, owner], (0, longest - 1)).unfold(1, longest, 1)  # (U, T, L)
    scores = logits.start[rows, owner][..., None] + ends + logits.span[owner]
    scores = scores.masked_fill(~legal.spans[owner], NEVER)
    best = scores.flatten(1).amax(1) + logits.passage[rows, owner]
    return functional.softplus(best - right.detach().mean() + margin).mean()


def passage_loss(scores: Tensor, allowed: Tensor, owner: Tensor) -> Tensor:
    """Cross entropy of the right passage among those of the batch, for a passage-level score (Q, P)."""
    return functional.cross_entropy(scores.masked_fill(~allowed, NEVER), owner)


def filter_loss(logits: Tensor, usable: Tensor, gold: Gold) -> Tensor:
    """Binary cross entropy of "an answer starts (ends) here", positives weighted by the length, as in DenSPI."""
    target = torch.zeros_like(logits)
    target[gold.passage, gold.start, 0] = 1
    target[gold.passage, gold.end, 1] = 1
    length = usable.sum(1).to(logits.dtype)[:, None, None]
    weight = torch.where(target > 0, length, torch.ones_like(logits))
    loss = functional.binary_cross_entropy_with_logits(logits, target, weight, reduction="none")
    return (loss * usable[:, :, None]).sum() / (2 * usable.sum())


def flops_loss(passages: PassageStates) -> Tensor:
    """Mean squared activation of n-gram positions (the FLOPS regulariser): fewer, larger weights."""
    return torch.stack([attention.mean((0, 1)).square().sum() for attention in passages.attention.values()]).sum()


def lexical_margin(
    passage_ids: Tensor, question_ids: Tensor, question_mask: Tensor, idf: Tensor, owner: Tensor
) -> Tensor:
    """tf-idf matching score of each *negative* passage, zero for the right one: (Q, P).

    Added to the word-level logits of the negatives, it asks the model to win by more against passages that share
    the question's rare words (section 3.3 of the paper).
    """
    present = torch.zeros(len(passage_ids), len(idf), dtype=idf.dtype, device=idf.device)
    present.scatter_(1, passage_ids, 1.0)
    weights = idf[question_ids] * inner_words(question_mask)  # [CLS] and [SEP] stand in every passage
    scores = torch.einsum("qmp,qm->qp", present.T[question_ids], weights) / weights.sum(1, keepdim=True)
    return scores.scatter(1, owner[:, None], 0.0)
