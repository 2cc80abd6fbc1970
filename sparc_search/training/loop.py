"""The training loop: flat, resumable, the same on a CPU, a GPU or several.

Everything that decides the next step is in the checkpoint or follows from (seed, step), so a run that was killed and
resumed ends with the same weights as one that was not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import ModelDamaged, UsageError
from ..model.network import SparcNetwork
from .arithmetic import autocast
from .average import WeightAverage, copy_into, trainable
from .batches import BatchShape, Step, make_batch, number_questions, plan_epoch
from .checkpoint import load_optimiser, optimiser_tensors, read_checkpoint, write_checkpoint
from .dropout import Dropout, Masks, install_dropout
from .freezing import freeze
from .heading_paths import HeadingPaths
from .held_out import Measures, measure
from .negatives import inverse_document_frequency, lexical_vectors, nearest_passages
from .objective import Losses, LossWeights, encode, step_loss
from .packing import packed_states
from .quantising import quantise, settle
from .schedule import Schedule
from .squad_data import TrainingPassage
from .world import World

_WATCHED = 8
"""Batches from which the ranges of quantised activations begin."""
_RANGE_RATE = 50.0
"""Times the rate: a range is one large number, which a body's rate would hardly move."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """What a run does. Whatever is here lands in `training.json`."""

    steps: int
    rate: float = 9e-5
    head_rate: float = 5.0  # times `rate`
    warm_up: int = 100
    cool_down: int = 400
    weight_decay: float = 0.01
    clip: float = 1.0
    accumulate: int = 1
    average: float = 0.998
    seed: int = 45
    titles: float = 0.75  # share of turns that read the title
    paths: float = 0.0  # share of these that read it as a heading path
    dropout: float = 0.0
    freeze_layers: int = 0
    quantise: bool = False  # compute as int8 will
    evaluate_every: int = 500
    checkpoint_every: int = 200
    patience: int = 0  # evaluations without a better one before stopping early; 0 = never
    threads: int = 0
    mixed_precision: bool = False
    batch: BatchShape = field(default_factory=BatchShape)
    losses: LossWeights = field(default_factory=LossWeights)


@dataclass(frozen=True, slots=True)
class Progress:
    """One step's news, for the bar and the log."""

    step: int
    total: int
    epoch: int
    losses: dict[str, float]
    rate: float
    examples_per_second: float
    tokens_per_second: float
    measures: Measures | None = None


class Training:
    """A run in progress. `run()` takes it to its end; `network` then holds the averaged weights."""

    def __init__(
        self,
        network: SparcNetwork,
        passages: Sequence[TrainingPassage],
        held_out: Sequence[TrainingPassage],
        special: tuple[int, int, int],
        settings: TrainingSettings,
        checkpoint: Path | None = None,
        world: World | None = None,
        paths: HeadingPaths | None = None,
    ) -> None:
        self.world, self.paths = world or World(), paths
        self.network, self.passages, self.held_out, self.special = network, passages, held_out, special
        self.settings, self.checkpoint = settings, checkpoint
        self.device = next(network.parameters()).device
        self.first_question, self.owner = number_questions(passages)
        idf = inverse_document_frequency(passages, int(network.config.body["vocab_size"]))
        self.idf = torch.from_numpy(idf).to(self.device)
        self.memory: NDArray[np.float16] | None = None  # the newest vector of each question
        self.written = np.zeros(len(self.owner), np.bool_)  # vectors the other processes do not know yet
        self.mined = lexical_vectors(passages, idf, settings.seed).astype(np.float16)  # what this epoch was mined by
        self.step = self.epoch = self.step_in_epoch = 0
        self.best: Measures | None = None
        self.stale = 0
        self.history: list[dict[str, Any]] = []
        freeze(network.body, settings.freeze_layers)
        self.masks = Masks()
        install_dropout(network.body, settings.dropout, self.masks)
        self.dropout = Dropout(settings.dropout, self.masks)
        if settings.mixed_precision and self.device.type == "cpu":
            network.body.set_attn_implementation("eager")  # the fused one is slow at going backwards in bf16
        if settings.quantise:
            quantise(network)
            settle(network, self.watch)
        self.optimiser = make_optimiser(network, settings)
        self.average = WeightAverage(network, settings.average)

    def run(self, report: Callable[[Progress], None], stop: Callable[[], bool] = lambda: False) -> None:
        """Train to the last step (or until `stop`), reporting each step; a checkpoint is left at the end."""
        self.network.train()
        per_step = self.settings.accumulate * self.world.size
        stopped = False
        while not self.finished and not stopped:
            steps = self.plan()
            if len(steps) < per_step:
                raise UsageError(
                    f"an epoch has {len(steps)} batches, one step needs {per_step}",
                    "use smaller batches, less accumulation, fewer processes or more data",
                )
            started = time.monotonic()
            while self.step_in_epoch + per_step <= len(steps) and not self.finished:
                if stopped := self.world.any(stop()):
                    break
                losses, examples, tokens = self.optimise(steps[self.step_in_epoch : self.step_in_epoch + per_step])
                self.step_in_epoch += per_step
                self.step += 1
                seconds = time.monotonic() - started
                self.report(report, losses, examples / seconds, tokens / seconds)
                if self.step % self.settings.checkpoint_every == 0:
                    self.save()
                started = time.monotonic()
            if not stopped and not self.finished:
                self.next_epoch()
        self.save()
        copy_into(self.network, self.average.values)

    @property
    def finished(self) -> bool:
        """Whether the last step is done, or nothing has got better for a while."""
        patience = self.settings.patience
        return self.step >= self.settings.steps or bool(patience and self.stale >= patience)

    def plan(self) -> list[Step]:
        """The steps of the current epoch."""
        neighbours = nearest_passages(self.mined.astype(np.float32), self.owner)
        return plan_epoch(
            self.passages,
            neighbours,
            self.settings.batch,
            self.settings.seed,
            self.epoch,
            self.settings.titles,
            self.paths,
            self.settings.paths,
        )

    def next_epoch(self) -> None:
        """From here on negatives are mined by the model's own question vectors."""
        self.epoch, self.step_in_epoch = self.epoch + 1, 0
        if self.memory is not None:
            self.exchange_memory()
            self.mined = self.memory.copy()

    def exchange_memory(self) -> None:
        """Let every process know the question vectors that the others computed."""
        if self.memory is not None:
            self.world.merge_rows(self.memory, self.written)
            self.written[:] = False

    def optimise(self, steps: Sequence[Step]) -> tuple[Losses, int, int]:
        """One optimiser step over `accumulate` batches of each process."""
        share = Schedule(self.settings.steps, self.settings.warm_up, self.settings.cool_down)(self.step)
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak"] * share
        examples = tokens = 0
        for number, step in self.world.share(steps):
            batch = make_batch(self.passages, self.first_question, step, self.special).to(self.device)
            seed = self.settings.seed + self.step * len(steps) + number
            self.masks.reseed(self.settings.seed, self.step * len(steps) + number)
            losses, vectors = step_loss(self.network, batch, self.settings.losses, self.idf, seed, self.states)
            (losses.total / len(steps)).backward()
            self.remember(batch.question_numbers, vectors)
            examples += len(batch.owner)
            tokens += int(batch.passage_mask.sum() + batch.question_mask.sum())
        self.world.sum_gradients(trainable(self.network).values())
        torch.nn.utils.clip_grad_norm_(list(trainable(self.network).values()), self.settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.average.update(self.network, self.step)
        return losses, examples, tokens

    def watch(self) -> None:
        """Show the network a few batches, without learning from them."""
        steps = self.plan()[:_WATCHED]
        for step in steps:
            batch = make_batch(self.passages, self.first_question, step, self.special).to(self.device)
            encode(self.network, batch)

    def states(self, network: SparcNetwork, *groups: tuple[Tensor, Tensor]) -> list[Tensor]:
        """Token states: the body in bf16 where that was asked for, the rest in fp32; dropout before the heads."""
        with autocast("bf16" if self.settings.mixed_precision else "fp32", self.device.type):
            found = packed_states(network, *groups)
        return [self.dropout(states.float()) for states in found]

    def remember(self, numbers: NDArray[np.int64], vectors: Tensor) -> None:
        """Keep question vectors for the mining of the next epoch."""
        if self.memory is None:
            spread = np.random.default_rng(self.settings.seed).standard_normal((len(self.owner), vectors.shape[1]))
            self.memory = (spread * 1e-3).astype(np.float16)  # never asked yet: near nobody
        self.memory[numbers] = vectors.half().cpu().numpy()
        self.written[numbers] = True

    def evaluate(self) -> Measures:
        """Measure the averaged weights on the held-out articles and remember the best."""
        with self.average.in_place(self.network):
            measures: Measures = measure(self.network, self.held_out, self.special)
        self.stale = 0 if self.best is None or measures["f1"] > self.best["f1"] else self.stale + 1
        if self.stale == 0:
            self.best = measures
        return measures

    def report(self, report: Callable[[Progress], None], losses: Losses, examples: float, tokens: float) -> None:
        """Measure when it is time, tell the caller, and keep it for the loss curve."""
        due = self.step % self.settings.evaluate_every == 0 or self.step == self.settings.steps
        measures = self.evaluate() if due and self.held_out else None
        values = {name: round(float(value.detach()), 4) for name, value in losses._asdict().items()}
        rate = self.optimiser.param_groups[0]["lr"]
        news = Progress(self.step, self.settings.steps, self.epoch, values, rate, examples, tokens, measures)
        row = {"step": self.step, "epoch": self.epoch, **values}
        self.history.append({**row, "held_out": measures} if measures else row)
        report(news)

    def save(self) -> None:
        """Write a checkpoint, if a place for it was given."""
        self.exchange_memory()
        if self.checkpoint is None or not self.world.leads:
            return
        names = {id(parameter): name for name, parameter in trainable(self.network).items()}
        vectors = {"mined": torch.from_numpy(self.mined)}
        if self.memory is not None:
            vectors["memory"] = torch.from_numpy(self.memory)
        tensors = {
            "weights": dict(trainable(self.network).items()),
            "average": self.average.values,
            "optimiser": optimiser_tensors(self.optimiser, names),
            "questions": vectors,
        }
        state = {
            "step": self.step,
            "epoch": self.epoch,
            "step_in_epoch": self.step_in_epoch,
            "best": self.best,
            "stale": self.stale,
            "history": self.history,
            "settings": asdict(self.settings),
            "questions": len(self.owner),
        }
        write_checkpoint(self.checkpoint, tensors, state)

    def resume(self) -> None:
        """Go on from the checkpoint; the data and the batch settings must be the same as before."""
        if self.checkpoint is None:
            raise ModelDamaged("there is no checkpoint folder to resume from")
        tensors, state = read_checkpoint(self.checkpoint)
        if state["questions"] != len(self.owner):
            raise ModelDamaged(
                f"the checkpoint was made with {state['questions']} questions, the data now has {len(self.owner)}",
                "resume with the same data files and held-out articles",
            )
        now = asdict(self.settings)
        before = {**now, **state["settings"]}  # an older version knew fewer of them
        before["batch"] = {**now["batch"], **before["batch"]}
        fixed = ("batch", "accumulate", "seed", "freeze_layers", "quantise")
        changed = [name for name in fixed if before[name] != now[name]]
        if changed:
            raise UsageError(
                f"{changed[0]} was {before[changed[0]]} before, and is {now[changed[0]]} now",
                "resume with the settings the run was started with",
            )
        copy_into(self.network, tensors["weights"])
        self.average.values = tensors["average"]
        load_optimiser(self.optimiser, tensors["optimiser"], trainable(self.network))
        self.mined = tensors["questions"]["mined"].numpy()
        if "memory" in tensors["questions"]:
            self.memory = tensors["questions"]["memory"].numpy()
        self.step, self.epoch, self.step_in_epoch = state["step"], state["epoch"], state["step_in_epoch"]
        self.best, self.stale, self.history = state["best"], state["stale"], state["history"]


def make_optimiser(network: SparcNetwork, settings: TrainingSettings) -> torch.optim.AdamW:
    """AdamW; new heads learn faster than the body that comes trained; no decay on biases and norms."""
    heads = {id(parameter) for parameter in network.head_parameters()}
    ranges = {id(parameter) for name, parameter in network.named_parameters() if name.startswith("ranges.")}
    groups: dict[tuple[float, bool], list[Tensor]] = {}
    for parameter in trainable(network).values():
        times = _RANGE_RATE if id(parameter) in ranges else settings.head_rate if id(parameter) in heads else 1.0
        groups.setdefault((times, parameter.dim() > 1), []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "peak": settings.rate * times,
                "weight_decay": settings.weight_decay if matrix else 0.0,
            }
            for (times, matrix), parameters in groups.items()
        ],
        lr=settings.rate,
        fused=True,
    )
