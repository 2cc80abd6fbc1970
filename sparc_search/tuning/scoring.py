"""The score of a pool's phrases in torch: the scorer's own formula, with gradients for everything the question gives.

    score(i, j) = s_i·q_s + e_j·q_e + p·q_p + sparse_start(i) + sparse_end(j) + (a_i·b_j + lex), which is fixed

The lower layers of the question side stay as they are, so their states are computed once for all questions; a step
only runs the layers above, and the heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ..model.encoding import Outputs, padded
from ..model.network import QuestionStates, SparcNetwork
from ..model.tokenizer import Pieces, WordPieces
from ..training.freezing import freeze, layers_of
from .pool import Pool, PoolSide

PASSAGE_SIDE = ("start", "end", "span_start", "span_end", "filter")
"""Heads that only passages have."""
_AT_ONCE = 64
"""Questions that go through the frozen layers together."""


class SideTensors(NamedTuple):
    """A `PoolSide`, dequantised."""

    vectors: Tensor
    scales: Tensor
    entry_row: Tensor
    entry_slot: Tensor
    entry_value: Tensor

    @classmethod
    def of(cls, side: PoolSide) -> SideTensors:
        """The same numbers."""
        arrays = (side.vectors, side.scales, side.entry_row, side.entry_slot, side.entry_value)
        return cls(*map(torch.from_numpy, arrays))

    def scores(self, vector: Tensor, weights: Tensor) -> Tensor:
        """What each kept start (or end) scores: (rows,). `weights` are those of the question's n-grams, by slot."""
        dense = (self.vectors.to(vector.dtype) @ vector) * self.scales
        return dense.index_add(0, self.entry_row, self.entry_value * weights[self.entry_slot])


class PoolTensors(NamedTuple):
    """A `Pool`, for torch."""

    start: SideTensors
    end: SideTensors
    passage_vectors: Tensor
    passage_scales: Tensor
    passage: Tensor
    start_row: Tensor
    end_row: Tensor
    fixed: Tensor
    right: Tensor

    @classmethod
    def of(cls, pool: Pool) -> PoolTensors:
        """The same numbers."""
        arrays = (pool.passage_vectors, pool.passage_scales, pool.passage, pool.start_row, pool.end_row, pool.fixed)
        tensors = map(torch.from_numpy, (*arrays, pool.right))
        return cls(SideTensors.of(pool.start), SideTensors.of(pool.end), *tensors)

    def scores(self, states: QuestionStates, row: int, ngrams: Sequence[int], window: int) -> Tensor:
        """The score of every span, for the question in this row of the states: (spans,)."""
        starts = self.start.scores(states.start[row], _by_slot(states, "start", row, ngrams, window))
        ends = self.end.scores(states.end[row], _by_slot(states, "end", row, ngrams, window))
        passages = (self.passage_vectors.to(starts.dtype) @ states.pooled[row]) * self.passage_scales
        return starts[self.start_row] + ends[self.end_row] + passages[self.passage] + self.fixed


def _by_slot(states: QuestionStates, side: str, row: int, ngrams: Sequence[int], window: int) -> Tensor:
    """The weights of the question's n-grams, laid out as `pool.slot` says."""
    if not ngrams:
        return states.start.new_zeros(window)
    own = [states.weights[f"{side}_{n}"][row] for n in ngrams]
    return torch.cat([functional.pad(weights, (0, window - len(weights))) for weights in own])


def loss_of(scores: Tensor, right: Tensor) -> Tensor:
    """-log of the share that right answers have in the softmax over all spans of the pool."""
    return scores.logsumexp(0) - scores[right].logsumexp(0)


def train_question_side(network: SparcNetwork, layers: int) -> None:
    """Let training change the last layers, the question's heads and its n-gram weighting, and nothing else."""
    every = len(layers_of(network.body))
    freeze(network.body, every - min(layers, every))
    if not layers:
        network.body.requires_grad_(False)
    for name in PASSAGE_SIDE:
        getattr(network, name).requires_grad_(False)


class AskedStates:
    """Questions as the frozen layers leave them, and the way from there to their vectors and weights."""

    def __init__(self, network: SparcNetwork, texts: Sequence[Pieces], pieces: WordPieces, layers: int) -> None:
        self.network = network
        stack = layers_of(network.body)
        self._above: list[nn.Module] = list(stack)[len(stack) - min(layers, len(stack)) :]
        padded_ids, padded_mask = padded(texts, pieces)
        self._lengths = padded_mask.sum(1).tolist()
        self._row_of = {padded_ids[row, :length].tobytes(): row for row, length in enumerate(self._lengths)}
        ids, mask = torch.from_numpy(padded_ids), torch.from_numpy(padded_mask)
        # A mask without a zero may be left out on the way; the last column has one for everybody.
        self._ids, self._mask = functional.pad(ids, (0, 1), value=pieces.pad), functional.pad(mask, (0, 1))
        self._calls = [self._frozen(rows) for rows in torch.arange(len(texts)).split(_AT_ONCE)]

    def _frozen(self, rows: Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the first trained layer is called with (or the heads, if no layer is)."""
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        hooks = [
            layer.register_forward_pre_hook(lambda _, given, named: calls.append((given, named)), with_kwargs=True)
            for layer in self._above[:1]
        ]
        with torch.no_grad():
            states = self.network.states(self._ids[rows], self._mask[rows])
        for hook in hooks:
            hook.remove()
        return calls[0] if calls else ((states,), {})

    def __call__(self, rows: Sequence[int]) -> QuestionStates:
        """Vectors and n-gram weights of these questions."""
        width = max(self._lengths[row] for row in rows)
        states, more, named = self._joined(rows, width)
        for layer in self._above:
            found = layer(states, *more, **named)
            states = found[0] if isinstance(found, tuple) else found
        asked = torch.tensor(rows)
        return self.network.question_heads(states, self._ids[asked, :width], self._mask[asked, :width])

    def outputs(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        """These questions again, as an `encoding.Network` gives them; one that is not among them is run as a whole."""
        lengths = mask.sum(1).tolist()
        rows = [self._row_of.get(row[:length].tobytes()) for row, length in zip(ids, lengths, strict=True)]
        with torch.inference_mode():
            known = [row for row in rows if row is not None]
            if len(known) < len(rows):
                states = self.network.questions(torch.from_numpy(ids), torch.from_numpy(mask))
            else:
                states = self(known)
        named = {"start": states.start, "end": states.end, "pooled": states.pooled, **states.weights}
        return {f"question_{name}": value.numpy() for name, value in named.items()}

    def _joined(self, rows: Sequence[int], width: int) -> tuple[Tensor, list[Any], dict[str, Any]]:
        """The calls of the batches in which these questions were, put together for them alone, without padding."""
        own = [(self._calls[row // _AT_ONCE], row % _AT_ONCE) for row in rows]
        (_, *more), named = own[0][0]
        states = torch.stack([given[0][row, :width] for (given, _), row in own])

        def joined(parts: Sequence[tuple[Any, int]]) -> Any:
            """One row of each tensor, as far as there are words; what is no tensor is the same for all."""
            if not isinstance(parts[0][0], Tensor):
                return parts[0][0]
            return _trimmed(torch.stack([tensor[row] for tensor, row in parts]), self._ids.shape[1], width)

        others = [joined([(given[at], row) for (given, _), row in own]) for at in range(1, len(more) + 1)]
        return states, others, {key: joined([(call[key], row) for (_, call), row in own]) for key in named}


def _trimmed(mask: Tensor, whole: int, width: int) -> Tensor:
    """A mask over `whole` words, over the first `width` of them alone."""
    for axis, size in enumerate(mask.shape):
        if axis and size == whole:
            mask = mask.narrow(axis, 0, width)
    return mask
