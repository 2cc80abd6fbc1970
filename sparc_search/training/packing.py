"""Texts of different lengths through the body without padding: several share a row, and none sees its neighbours.

A padded token costs as much as a real one, and questions beside passages would be mostly padding. So passages and
questions of a batch are packed into rows of one width; positions start anew with each text and the attention mask
is block-diagonal. Exact: a text's states are those it has alone (a test says so).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model.network import SparcNetwork


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each text lies: text k starts at flat position `starts[k]` of a (rows, width) grid."""

    rows: int
    width: int
    starts: NDArray[np.int64]


def pack(lengths: Sequence[int]) -> Packing:
    """First fit, longest first, into rows as wide as the longest text."""
    width = max(lengths)
    free: list[int] = []
    starts = np.zeros(len(lengths), np.int64)
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        row = next((row for row, room in enumerate(free) if room >= lengths[text]), len(free))
        if row == len(free):
            free.append(width)
        starts[text] = row * width + width - free[row]
        free[row] -= lengths[text]
    return Packing(len(free), width, starts)


PACKABLE = {"bert", "electra", "distilbert"}
"""Bodies that count positions from 0 and take them from outside; others (RoBERTa's kin) run padded."""


def padded_states(network: SparcNetwork, *groups: tuple[Tensor, Tensor]) -> list[Tensor]:
    """For each group of padded (ids, mask): its token states (B, T, h), a text a row."""
    return [network.states(ids, mask) for ids, mask in groups]


def packed_states(network: SparcNetwork, *groups: tuple[Tensor, Tensor]) -> list[Tensor]:
    """The same without padding, which gets the states of some other token."""
    if network.config.body["model_type"] not in PACKABLE:
        return padded_states(network, *groups)
    lengths = [mask.sum(1).tolist() for _, mask in groups]
    packing = pack([length for group in lengths for length in group])
    grid = packing.rows * packing.width
    device = groups[0][0].device
    ids, positions = torch.zeros((2, grid), dtype=torch.long, device=device)
    text_of = torch.full((grid,), -1, dtype=torch.long, device=device)
    places = []
    first = 0
    for (group_ids, mask), group_lengths in zip(groups, lengths, strict=True):
        starts = torch.from_numpy(packing.starts[first : first + len(group_lengths)]).to(device)
        inside = torch.arange(group_ids.shape[1], device=device)
        place = starts[:, None] + inside  # (B, T)
        real = mask.bool()
        ids[place[real]] = group_ids[real]
        positions[place[real]] = inside.expand_as(place)[real]
        text_of[place[real]] = (torch.arange(len(starts), device=device)[:, None] + first).expand_as(place)[real]
        places.append(torch.where(real, place, starts[:, None]))
        first += len(group_lengths)
    shape = (packing.rows, packing.width)
    text_of = text_of.view(shape)
    together = text_of[:, None, :, None] == text_of[:, None, None, :]  # (rows, 1, width, width)
    if network.body.config._attn_implementation == "eager":  # adds its mask
        together = torch.zeros(together.shape, device=device).masked_fill(~together, torch.finfo(torch.float32).min)
    states = network.body(
        input_ids=ids.view(shape), attention_mask=together, position_ids=positions.view(shape)
    ).last_hidden_state.flatten(0, 1)
    return [states[place] for place in places]
