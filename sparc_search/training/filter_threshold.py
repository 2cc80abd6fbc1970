"""Where the filter cuts: as high as it can while nearly all gold starts and ends of held-out questions survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..model.network import SparcNetwork
from .batches import Turn, make_batch, number_questions
from .losses import legal_choices
from .packing import packed_states
from .squad_data import TrainingPassage


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """Thresholds for start and end, and what they keep."""

    thresholds: tuple[float, float]
    survive: tuple[float, float]  # share of gold starts, gold ends
    kept: tuple[float, float]  # share of all word pieces


@torch.no_grad()
def choose_thresholds(
    network: SparcNetwork, passages: Sequence[TrainingPassage], special: tuple[int, int, int], survive: float = 0.985
) -> FilterChoice:
    """The highest thresholds that keep `survive` of the gold starts and of the gold ends."""
    network.eval()
    first, _ = number_questions(passages)
    gold: list[list[torch.Tensor]] = [[], []]
    every: list[list[torch.Tensor]] = [[], []]
    for at in range(0, len(passages), 16):
        step = [
            Turn(number, list(range(len(passages[number].questions))))
            for number in range(at, min(at + 16, len(passages)))
        ]
        batch = make_batch(passages, first, step, special)
        words = legal_choices(batch.answer_words, batch.allowed, 1).words
        [states] = packed_states(network, (batch.passage_ids, batch.passage_mask))
        logits = network.filter(states)
        for side, positions in enumerate((batch.start, batch.end)):
            gold[side].append(logits[batch.owner, positions, side])
            every[side].append(logits[..., side][words])
    network.train()
    found = [_cut(torch.cat(gold[side]).numpy(), torch.cat(every[side]).numpy(), survive) for side in (0, 1)]
    (low, alive, kept), (low_end, alive_end, kept_end) = found
    return FilterChoice((low, low_end), (alive, alive_end), (kept, kept_end))


def _cut(gold: np.ndarray, every: np.ndarray, survive: float) -> tuple[float, float, float]:
    threshold = round(float(np.quantile(gold, 1 - survive, method="lower")) - 1e-4, 4)
    return threshold, round(float((gold >= threshold).mean()), 4), round(float((every >= threshold).mean()), 4)
