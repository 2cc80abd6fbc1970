"""The SPARC network in torch: a BERT-like body and its heads. Read top to bottom, it is section 3 of the paper.

The body reads a passage once, without any question. From its token states come

- a start and an end vector for each token, and two short "span" vectors whose product says whether a start and an
  end belong together (DenSPI's coherency);
- one passage vector: the mean of the states, of unit length;
- for each side {start, end} and n-gram size, rectified self-attention over the passage's own n-grams (SPARC, eq. 1).

A question goes through the same body; its `[CLS]` state gives the vectors, its `[CLS]` row of the same attention the
n-gram weights. What is left out here: n-grams themselves. The network only weighs *positions*; which n-gram stands
at a position is a matter of token ids (training: `losses.ngram_matches`, serving: `after_network`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..records import SIDES
from .config import SparcConfig


class PassageStates(NamedTuple):
    """What the network says of a batch of passages. P passages, T tokens, d dense, c span, h hidden size."""

    start: Tensor  # (P, T, d)
    end: Tensor  # (P, T, d)
    span_start: Tensor  # (P, T, c)
    span_end: Tensor  # (P, T, c)
    pooled: Tensor  # (P, h) unit length
    filter: Tensor  # (P, T, 2) logits: may an answer start, end here?
    attention: dict[str, Tensor]  # "start_1", "end_2" ... -> (P, T, T), row = phrase boundary, column = n-gram position


class QuestionStates(NamedTuple):
    """What the network says of a batch of questions. Q questions, M tokens."""

    start: Tensor  # (Q, d)
    end: Tensor  # (Q, d)
    pooled: Tensor  # (Q, h) unit length times the learned factor
    weights: dict[str, Tensor]  # "start_1" ... -> (Q, M), the [CLS] row


class SparseHead(nn.Module):
    """ReLU(Q K^T / sqrt(d)): how much the n-gram at each position matters for the phrase boundary at each row."""

    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(hidden, size)
        self.key = nn.Linear(hidden, size)
        self.scale = 1 / math.sqrt(size)

    def forward(self, states: Tensor, rows: Tensor) -> Tensor:
        """(B, T, h) and the states of the wanted rows (B, R, h) -> (B, R, T), not yet masked."""
        return torch.relu(self.query(rows) @ self.key(states).transpose(1, 2) * self.scale)


def ngram_mask(ids: Tensor, n: int, lowest: int) -> Tensor:
    """1 where a whole n-gram of ordinary words starts: (B, T). Special tokens (ids below `lowest`) break it."""
    word = ids >= lowest
    mask = word.clone()
    for shift in range(1, n):
        mask[:, :-shift] &= word[:, shift:]
        mask[:, -shift:] = False
    return mask


class SparcNetwork(nn.Module):
    """Body and heads. `passages` and `questions` are its two faces."""

    def __init__(self, config: SparcConfig, body: nn.Module) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.config = config
        self.body = body
        self.start = nn.Linear(hidden, config.dense_size)
        self.end = nn.Linear(hidden, config.dense_size)
        self.span_start = nn.Linear(hidden, config.span_size)
        self.span_end = nn.Linear(hidden, config.span_size)
        self.question_start = nn.Linear(hidden, config.dense_size)
        self.question_end = nn.Linear(hidden, config.dense_size)
        self.filter = nn.Linear(hidden, 2)
        self.passage_factor = nn.Parameter(torch.tensor(14.0))
        self.sparse = nn.ModuleDict(
            {f"{side}_{n}": SparseHead(hidden, config.sparse_size) for side in SIDES for n in config.ngrams}
        )

    @classmethod
    def from_body(cls, config: SparcConfig) -> SparcNetwork:
        """A network with a body of the configured shape and untrained weights; the caller loads them."""
        from transformers import AutoConfig, AutoModel

        settings: dict[str, Any] = dict(config.body)
        body_config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        body = AutoModel.from_config(body_config, attn_implementation="sdpa")
        if getattr(body, "pooler", None) is not None:
            body.pooler = None  # unused, and not in the files
        return cls(config, body)

    def head_parameters(self) -> list[nn.Parameter]:
        """All parameters but the body's."""
        return [parameter for name, parameter in self.named_parameters() if not name.startswith("body.")]

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(B, T) token ids and mask -> (B, T, h)."""
        states: Tensor = self.body(input_ids=ids, attention_mask=mask).last_hidden_state
        return states

    def passages(self, ids: Tensor, mask: Tensor) -> PassageStates:
        """Encode passages, one each row."""
        return self.passage_heads(self.states(ids, mask), ids, mask)

    def passage_heads(self, states: Tensor, ids: Tensor, mask: Tensor) -> PassageStates:
        """The heads over token states of passages."""
        off_diagonal = 1 - torch.eye(ids.shape[1], device=ids.device)  # a boundary says nothing by its own n-gram
        attention = {}
        for name, head in self.sparse.items():
            columns = self._columns(name, ids, mask)  # (P, T)
            attention[name] = head(states, states) * columns[:, None, :] * off_diagonal
        return PassageStates(
            self.start(states),
            self.end(states),
            self.span_start(states),
            self.span_end(states),
            pool(states, mask),
            self.filter(states.detach()),  # the filter looks on; it must not bend what it filters
            attention,
        )

    def questions(self, ids: Tensor, mask: Tensor) -> QuestionStates:
        """Encode questions, one each row."""
        return self.question_heads(self.states(ids, mask), ids, mask)

    def question_heads(self, states: Tensor, ids: Tensor, mask: Tensor) -> QuestionStates:
        """The heads over token states of questions: the [CLS] row."""
        cls = states[:, 0]
        weights = {
            name: head(states, states[:, :1])[:, 0] * self._columns(name, ids, mask)
            for name, head in self.sparse.items()
        }
        return QuestionStates(
            self.question_start(cls), self.question_end(cls), pool(states, mask) * self.passage_factor, weights
        )

    def _columns(self, name: str, ids: Tensor, mask: Tensor) -> Tensor:
        n = int(name.rsplit("_", 1)[1])
        return (ngram_mask(ids, n, self.config.lowest_ngram_id) & mask.bool()).to(self.start.weight.dtype)


def pool(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of each row, of unit length: (B, T, h) -> (B, h)."""
    weights = mask.to(states.dtype)[:, :, None]
    mean = (states * weights).sum(1) / weights.sum(1)
    return nn.functional.normalize(mean, dim=-1)
