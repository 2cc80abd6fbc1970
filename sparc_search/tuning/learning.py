"""One run of learning: the question side against the phrases of each question's pool.

What decides the next step is in the checkpoint or follows from (seed, epoch): a run that was stopped and goes on ends
with the same weights as one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..training.average import WeightAverage, copy_into, trainable
from ..training.checkpoint import load_optimiser, optimiser_tensors, read_checkpoint, write_checkpoint
from ..training.loop import TrainingSettings, make_optimiser
from ..training.schedule import Schedule
from .scoring import AskedStates, PoolTensors, loss_of


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """What a tuning does."""

    layers: int = 1  # last layers of the body that learn
    epochs: int = 6
    rate: float = 2e-5
    head_rate: float = 10.0  # times `rate`
    batch: int = 16  # questions
    passages: int = 20  # that are proposed for a question and scored
    folds: int = 5
    seed: int = 45
    checkpoint_every: int = 500  # steps

    def training(self, questions: int) -> TrainingSettings:
        """The same in the words of training, for so many questions."""
        steps = self.epochs * -(-questions // self.batch)
        return TrainingSettings(
            steps=steps,
            rate=self.rate,
            head_rate=self.head_rate,
            warm_up=max(1, steps // 10),
            cool_down=max(1, steps // 2),
            average=0.98,
            seed=self.seed,
            checkpoint_every=self.checkpoint_every,
        )


Told = Callable[[int, float], object]
"""Hears of each step: its number, and its loss."""


class Learning:
    """A run over some of the questions. `run` leaves the averaged weights in the network."""

    def __init__(
        self,
        asked: AskedStates,
        pools: Sequence[PoolTensors | None],
        rows: Sequence[int],
        settings: TuningSettings,
        checkpoint: Path | None = None,
    ) -> None:
        self._asked, self._pools, self._rows, self._settings = asked, pools, list(rows), settings
        self._checkpoint = checkpoint
        self._training = settings.training(len(rows))
        self._network = asked.network
        self._optimiser = make_optimiser(self._network, self._training)
        self._average = WeightAverage(self._network, self._training.average)
        self._step = 0
        if checkpoint and checkpoint.exists():
            self._resume(checkpoint)

    @property
    def steps(self) -> int:
        """How many are still to come."""
        return self._training.steps - self._step

    def run(self, tell: Told = lambda step, loss: None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Learn to the end, or until `stop`; whether the end was reached. It goes on from a checkpoint."""
        steps = self._training.steps
        schedule = Schedule(steps, self._training.warm_up, self._training.cool_down)
        while self._step < steps:
            if stop():
                self._save()
                return False
            for group in self._optimiser.param_groups:
                group["lr"] = group["peak"] * schedule(self._step)
            loss = self._learn(self._batch())
            self._step += 1
            tell(self._step, loss)
            if self._step % self._training.checkpoint_every == 0:
                self._save()
        copy_into(self._network, self._average.values)
        return True

    def _batch(self) -> list[int]:
        """The questions of the next step, in an order of their own for each epoch."""
        per_epoch = -(-len(self._rows) // self._settings.batch)
        epoch, number = divmod(self._step, per_epoch)
        order = np.random.default_rng((self._settings.seed, epoch)).permutation(self._rows)
        return [int(row) for row in order[number::per_epoch]]

    def _learn(self, rows: list[int]) -> float:
        loss = self._loss(rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(trainable(self._network).values()), self._training.clip)
        self._optimiser.step()
        self._optimiser.zero_grad()
        self._average.update(self._network, self._step)
        return float(loss.detach())

    def _loss(self, rows: list[int]) -> Tensor:
        config = self._network.config
        states = self._asked(rows)
        losses = []
        for at, row in enumerate(rows):
            pool = self._pools[row]
            assert pool is not None
            losses.append(loss_of(pool.scores(states, at, config.ngrams, config.question_window), pool.right))
        return torch.stack(losses).mean()

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        names = {id(parameter): name for name, parameter in trainable(self._network).items()}
        tensors = {
            "weights": dict(trainable(self._network).items()),
            "average": self._average.values,
            "optimiser": optimiser_tensors(self._optimiser, names),
        }
        write_checkpoint(self._checkpoint, tensors, {"step": self._step})

    def _resume(self, checkpoint: Path) -> None:
        tensors, state = read_checkpoint(checkpoint)
        copy_into(self._network, tensors["weights"])
        self._average.values = tensors["average"]
        load_optimiser(self._optimiser, tensors["optimiser"], trainable(self._network))
        self._step = state["step"]
