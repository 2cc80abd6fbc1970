"""Train a cross-encoder: by the cross entropy of the answer's two ends, resumable at any step.

The softmax runs over the words of the right window *and* of the wrong passage together (shared normalisation, Clark
and Gardner 2018), so that scores of different passages are on one scale. `[CLS]` stands for "no answer here": it
competes in every right window, and must win in wrong passages and for questions without an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ModelDamaged, UsageError
from ..model.tokenizer import WordPieces
from ..training.allocator import keep_freed_memory
from ..training.arithmetic import autocast
from ..training.average import WeightAverage, copy_into, trainable
from ..training.checkpoint import load_optimiser, optimiser_tensors, read_checkpoint, write_checkpoint
from ..training.dropout import Masks, install_dropout
from ..training.freezing import freeze
from ..training.schedule import Schedule
from .data import NO_ANSWER, Example, plan_epoch
from .network import CrossEncoderNetwork
from .reading import before_passage, joined, padded

NEVER = -1e9
NULL_WEIGHT = 0.5
"""How much "nothing in this wrong passage" counts beside "the answer is here"."""

Measures = dict[str, float]


@dataclass(frozen=True, slots=True)
class CrossEncoderSettings:
    """What a run does."""

    steps: int
    tokens: int = 3072  # of a batch, padding included
    batch: int = 0  # most questions of it; 0: no limit
    rate: float = 6e-5
    head_rate: float = 5.0  # times `rate`
    warm_up: int = 100
    cool_down: int = 400
    weight_decay: float = 0.01
    clip: float = 1.0
    average: float = 0.995
    dropout: float = 0.1
    freeze_layers: int = 0
    arithmetic: str = "fp32"
    evaluate_every: int = 400
    checkpoint_every: int = 200
    seed: int = 45


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Rows: first the right window of every question, then the wrong passages there are."""

    ids: Tensor  # (R, T)
    mask: Tensor  # (R, T)
    words: Tensor  # (R, T) where an answer may begin or end
    gold: Tensor  # (B, 2); 0, which is [CLS], where there is no answer
    owner: Tensor  # (R - B,) whose wrong passage it is


def make_batch(some: Sequence[Example], pieces: WordPieces, question_window: int) -> PairBatch:
    """Examples as arrays."""
    asked = [example.question[: question_window - 2] for example in some]
    wrong = [
        (number, example.negative_title, negative)
        for number, example in enumerate(some)
        if (negative := example.negative) is not None
    ]
    rows = [(number, example.title, example.passage) for number, example in enumerate(some)] + wrong
    before = [before_passage(asked[number], title, pieces.sep) for number, title, _ in rows]
    texts = [joined(head, passage, pieces) for head, (_, _, passage) in zip(before, rows, strict=True)]
    ids, mask = padded(texts, pieces.pad)
    words = np.zeros(ids.shape, np.bool_)
    for row, (head, text) in enumerate(zip(before, texts, strict=True)):
        words[row, len(head) + 2 : len(text) - 1] = True
    gold = [
        (0, 0) if example.start == NO_ANSWER else (example.start + len(head) + 2, example.end + len(head) + 2)
        for example, head in zip(some, before[: len(some)], strict=True)
    ]
    owner = torch.tensor([number for number, _, _ in wrong], dtype=torch.long)
    return PairBatch(torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(words), torch.tensor(gold), owner)


def answer_loss(logits: Tensor, batch: PairBatch) -> Tensor:
    """Cross entropies of start and end over all words that a question met, and of "nothing" in the wrong passages."""
    count = len(batch.gold)
    scores = logits.float().masked_fill(~batch.words[:, :, None], NEVER)
    words = scores.logsumexp(1)  # (R, 2)
    nothing = logits[:, 0].float()  # (R, 2)
    total = torch.logaddexp(words[:count], nothing[:count])
    if len(batch.owner):
        others = torch.full_like(total, NEVER).index_copy(0, batch.owner, words[count:])
        total = torch.logaddexp(total, others)
    right = logits[:count].float().gather(1, batch.gold[:, None, :].expand(-1, 1, 2))[:, 0]  # (B, 2)
    found = (total - right).mean(1).sum()
    refused = (torch.logaddexp(words[count:], nothing[count:]) - nothing[count:]).mean(1).sum()
    return (found + NULL_WEIGHT * refused) / (count + NULL_WEIGHT * len(batch.owner))


@dataclass(frozen=True, slots=True)
class ReaderProgress:
    """One step's news."""

    step: int
    total: int
    epoch: int
    loss: float
    rate: float
    questions_per_second: float
    tokens_per_second: float
    measures: Measures | None = None


class CrossEncoderTraining:
    """A run in progress. `run()` takes it to its end; `network` then holds the averaged weights."""

    def __init__(
        self,
        network: CrossEncoderNetwork,
        some: Sequence[Example],
        pieces: WordPieces,
        settings: CrossEncoderSettings,
        question_window: int,
        checkpoint: Path | None = None,
        measure: Callable[[CrossEncoderNetwork], Measures] | None = None,
    ) -> None:
        self.network, self.examples, self.pieces, self.settings = network, some, pieces, settings
        self.question_window, self.checkpoint, self.measure = question_window, checkpoint, measure
        self.step = self.epoch = self.step_in_epoch = 0
        self.history: list[dict[str, Any]] = []
        self.masks = Masks()
        install_dropout(network.body, settings.dropout, self.masks)
        freeze(network.body, settings.freeze_layers)
        self.optimiser = make_optimiser(network, settings)
        self.average = WeightAverage(network, settings.average)

    def run(self, report: Callable[[ReaderProgress], None], stop: Callable[[], bool] = lambda: False) -> bool:
        """Train to the last step (True) or until `stop` (False); a checkpoint is left either way."""
        self.network.train()
        stopped = False
        while self.step < self.settings.steps and not stopped:
            batches = self.plan()
            while self.step_in_epoch < len(batches) and self.step < self.settings.steps:
                if stopped := stop():
                    break
                self.optimise([self.examples[number] for number in batches[self.step_in_epoch]], report)
                if self.step % self.settings.checkpoint_every == 0:
                    self.save()
            if self.step_in_epoch >= len(batches):
                self.epoch, self.step_in_epoch = self.epoch + 1, 0
        self.save()
        copy_into(self.network, self.average.values)
        self.network.eval()
        return not stopped

    def plan(self) -> list[list[int]]:
        """The batches of the current epoch."""
        settings = self.settings
        return plan_epoch(self.examples, settings.tokens, settings.seed, self.epoch, settings.batch)

    def optimise(self, some: Sequence[Example], report: Callable[[ReaderProgress], None]) -> None:
        """One step, and its news."""
        began, settings = time.monotonic(), self.settings
        share = Schedule(settings.steps, settings.warm_up, settings.cool_down)(self.step)
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak"] * share
        self.masks.reseed(settings.seed, self.step)
        batch = make_batch(some, self.pieces, self.question_window)
        with autocast(settings.arithmetic, "cpu"):
            logits = self.network(batch.ids, batch.mask)
        loss = answer_loss(logits, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(trainable(self.network).values()), settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.average.update(self.network, self.step)
        self.step += 1
        self.step_in_epoch += 1
        seconds = time.monotonic() - began
        due = self.step % settings.evaluate_every == 0 or self.step == settings.steps
        measures = self.measured() if due and self.measure is not None else None
        rate = self.optimiser.param_groups[0]["lr"]
        speed = len(some) / seconds, int(batch.mask.sum()) / seconds
        news = ReaderProgress(self.step, settings.steps, self.epoch, float(loss.detach()), rate, *speed, measures)
        row: dict[str, Any] = {"step": news.step, "epoch": news.epoch, "loss": round(news.loss, 4)}
        self.history.append({**row, "held_out": measures} if measures else row)
        report(news)

    def measured(self) -> Measures:
        """What the averaged weights are worth."""
        assert self.measure is not None
        self.network.eval()
        with self.average.in_place(self.network):
            measures = self.measure(self.network)
        self.network.train()
        return measures

    def save(self) -> None:
        """Write a checkpoint, if a place for it was given."""
        if self.checkpoint is None:
            return
        names = {id(parameter): name for name, parameter in trainable(self.network).items()}
        tensors = {
            "weights": dict(trainable(self.network).items()),
            "average": self.average.values,
            "optimiser": optimiser_tensors(self.optimiser, names),
        }
        state = {
            "step": self.step,
            "epoch": self.epoch,
            "step_in_epoch": self.step_in_epoch,
            "history": self.history,
            "settings": asdict(self.settings),
            "examples": len(self.examples),
        }
        write_checkpoint(self.checkpoint, tensors, state)

    def resume(self) -> None:
        """Go on from the checkpoint; the data and the batches must be the same as before."""
        if self.checkpoint is None:
            raise ModelDamaged("there is no checkpoint folder to resume from")
        tensors, state = read_checkpoint(self.checkpoint)
        if state["examples"] != len(self.examples):
            raise ModelDamaged(
                f"the checkpoint was made with {state['examples']} questions, the data now has {len(self.examples)}",
                "resume with the same data files and options",
            )
        before, now = state["settings"], asdict(self.settings)
        changed = [name for name in ("tokens", "batch", "seed", "freeze_layers") if before.get(name, 0) != now[name]]
        if changed:
            raise UsageError(
                f"{changed[0]} was {before.get(changed[0], 0)} before, and is {now[changed[0]]} now",
                "resume with the settings the run was started with",
            )
        copy_into(self.network, tensors["weights"])
        self.average.values = tensors["average"]
        load_optimiser(self.optimiser, tensors["optimiser"], trainable(self.network))
        self.step, self.epoch, self.step_in_epoch = state["step"], state["epoch"], state["step_in_epoch"]
        self.history = state["history"]


def make_optimiser(network: CrossEncoderNetwork, settings: CrossEncoderSettings) -> torch.optim.AdamW:
    """AdamW; the new layer learns faster than the body that comes trained; no decay on biases and norms."""
    head = {id(parameter) for parameter in network.logits.parameters()}
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for parameter in trainable(network).values():
        groups.setdefault((id(parameter) in head, parameter.dim() > 1), []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "peak": settings.rate * (settings.head_rate if new else 1.0),
                "weight_decay": settings.weight_decay if matrix else 0.0,
            }
            for (new, matrix), parameters in groups.items()
        ],
        lr=settings.rate,
        fused=True,
    )


def prepare(seed: int, threads: int) -> None:
    """Seed the new layer's weights; so many processor threads, 0 lets torch choose."""
    keep_freed_memory()
    torch.manual_seed(seed)
    if threads:
        torch.set_num_threads(threads)
