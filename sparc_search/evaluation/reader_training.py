"""Train a reader (torch): a BERT-like body and one linear layer, by the cross entropy of the answer's two ends.

The softmax runs over the words of the right window *and* of the wrong passage together (shared normalisation, Clark
and Gardner 2018), so that scores of different passages are on one scale. Word embeddings are frozen and there is no
dropout, as for the model it is compared with.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..errors import ModelNotFound, UsageError
from ..model.config import SparcConfig
from ..model.encoder_torch import SparcModel, load_tensors
from ..model.export import save
from ..model.files import CARD
from ..model.onnx_graph import GraphBuilder, bert_body, linear
from ..model.onnx_precision import PRECISIONS
from ..model.tokenizer import WordPieces
from .reader import joined, padded
from .reader_data import Example

NEVER = -1e9


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What a run does."""

    epochs: float = 1.0
    batch: int = 12
    rate: float = 6e-5
    head_rate: float = 5.0  # times `rate`
    warm_up: float = 0.1
    clip: float = 1.0
    seed: int = 45


class ReaderBody(nn.Module):
    """The body and the layer that gives each word piece two logits."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModel

        shape = dict(config)
        kind = shape.pop("model_type")
        self.body = AutoModel.from_config(AutoConfig.for_model(kind, **shape), attn_implementation="sdpa")
        if getattr(self.body, "pooler", None) is not None:
            self.body.pooler = None
        self.logits = nn.Linear(int(config["hidden_size"]), 2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(B, T) -> (B, T, 2)."""
        scores: Tensor = self.logits(self.body(input_ids=ids, attention_mask=mask).last_hidden_state)
        return scores


def load_base(base: Path, config: dict[str, Any]) -> ReaderBody:
    """A body with base weights and an untrained layer on it."""
    if config["model_type"] != "bert":
        raise UsageError(f"a reader needs a BERT body, not {config['model_type']}", "name another --base")
    network = ReaderBody({**config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    weights = _body_weights(base)
    wanted = network.body.state_dict()
    missing = sorted(set(wanted) - set(weights))
    if missing:
        raise ModelNotFound(f"the weights in {base} lack {missing[0]}", "the folder needs the model's *.safetensors")
    network.body.load_state_dict({name: weights[name].float() for name in wanted})
    return network


def _body_weights(base: Path) -> dict[str, Tensor]:
    if (base / CARD).is_file():
        body: dict[str, Tensor] = SparcModel.from_pretrained(base).network.body.state_dict()
        return body
    weights = {name: value for path in sorted(base.glob("*.safetensors")) for name, value in load_tensors(path).items()}
    return {name.removeprefix("bert."): value for name, value in weights.items()}


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows: first the right window of every question, then the wrong passages there are."""

    ids: Tensor  # (R, T)
    mask: Tensor  # (R, T)
    words: Tensor  # (R, T) where an answer may begin or end
    gold: Tensor  # (B, 2)
    owner: Tensor  # (R - B,) whose wrong passage it is


def make_batch(some: Sequence[Example], pieces: WordPieces, question_window: int) -> Batch:
    """Examples as arrays."""
    asked = [example.question[: question_window - 2] for example in some]
    wrong = [(number, negative) for number, example in enumerate(some) if (negative := example.negative) is not None]
    texts = [(number, example.passage) for number, example in enumerate(some)] + wrong
    ids, mask = padded([joined(asked[number], text, pieces) for number, text in texts], pieces.pad)
    words = np.zeros(ids.shape, np.bool_)
    for row, (number, text) in enumerate(texts):
        first = len(asked[number]) + 2
        words[row, first : first + len(text)] = True
    shift = [len(question) + 2 for question in asked]
    gold = [(example.start + by, example.end + by) for example, by in zip(some, shift, strict=True)]
    owner = torch.tensor([number for number, _ in wrong], dtype=torch.long)
    return Batch(torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(words), torch.tensor(gold), owner)


def reader_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Mean of the cross entropies of start and end, each over all words that a question met."""
    scores = logits.masked_fill(~batch.words[:, :, None], NEVER)
    count = len(batch.gold)
    whole = scores.logsumexp(1)  # (R, 2)
    total = whole[:count]
    if len(batch.owner):
        others = torch.full_like(total, NEVER).index_copy(0, batch.owner, whole[count:])
        total = torch.logaddexp(total, others)
    right = scores[:count].gather(1, batch.gold[:, None, :])[:, 0]  # (B, 2)
    return (total - right).mean()


def batches(some: Sequence[Example], size: int, seed: int) -> Iterator[list[Example]]:
    """One epoch: batches of like length, in random order."""
    draw = random.Random(seed)
    lengths = [len(example.passage) + len(example.question) + draw.uniform(0, 16) for example in some]
    order = sorted(range(len(some)), key=lambda number: lengths[number])
    cut = [order[at : at + size] for at in range(0, len(order), size)]
    draw.shuffle(cut)
    for numbers in cut:
        yield [some[number] for number in numbers]


def train(
    network: ReaderBody,
    some: Sequence[Example],
    pieces: WordPieces,
    settings: ReaderSettings,
    question_window: int,
    tell: Callable[[int, int, float], None],
) -> None:
    """Train to the end, telling (step, steps, loss) after each step."""
    torch.manual_seed(settings.seed)
    network.body.get_input_embeddings().weight.requires_grad_(False)
    body = [parameter for parameter in network.body.parameters() if parameter.requires_grad]
    groups = [{"params": body}, {"params": network.logits.parameters(), "lr": settings.rate * settings.head_rate}]
    optimiser = torch.optim.AdamW(groups, lr=settings.rate, weight_decay=0.01)
    steps = max(1, round(settings.epochs * -(-len(some) // settings.batch)))
    warm = max(1, round(settings.warm_up * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    network.train()
    step = epoch = 0
    while step < steps:
        for chosen in batches(some, settings.batch, settings.seed + epoch):
            batch = make_batch(chosen, pieces, question_window)
            loss = reader_loss(network(batch.ids, batch.mask), batch)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            optimiser.step()
            optimiser.zero_grad()
            schedule.step()
            step += 1
            tell(step, steps, float(loss.detach()))
            if step == steps:
                break
        epoch += 1
    network.eval()


def export(network: ReaderBody, config: dict[str, Any], target: Path, precision: str = "fp32") -> None:
    """The reader as an ONNX file, by the same fused graph as the model it is compared with: the same terms."""
    weights: dict[str, NDArray[np.float32]] = {
        name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()
    }
    graph = GraphBuilder()
    states = bert_body(graph, SparcConfig(body=config), weights)
    linear(graph, states, weights, "logits", to="logits")
    model = graph.model(["logits"])
    PRECISIONS[precision](model)
    save(model, target)


def run_torch(network: ReaderBody) -> Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]:
    """The network as `reader.ReaderNetwork`, without a file."""

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits: NDArray[np.float32] = network(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
        return logits

    return run


def set_threads(threads: int) -> None:
    """So many processor threads; 0 lets torch choose."""
    if threads:
        torch.set_num_threads(threads)
