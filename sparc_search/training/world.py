"""One process or several (torchrun): who takes which batch, and what they tell each other.

Every process plans the same steps and takes its share of each; gradients are summed, so N processes do what one does
with N times the accumulation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class World:
    """This process's number among `size`."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: str) -> World:
        """The world torchrun started this process in; alone without it."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return cls()
        distributed.init_process_group("nccl" if device == "cuda" else "gloo")
        return cls(distributed.get_rank(), size)

    @property
    def leads(self) -> bool:
        """One process talks, evaluates aloud and writes files."""
        return self.rank == 0

    def share(self, items: Sequence[Item]) -> list[tuple[int, Item]]:
        """This process's items, with their numbers."""
        return list(enumerate(items))[self.rank :: self.size]

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Add up the gradients of all processes; a parameter that nobody used here counts as zero."""
        if self.size == 1:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            distributed.all_reduce(parameter.grad)

    def any(self, flag: bool) -> bool:
        """Whether any process says so; all get the same answer."""
        if self.size == 1:
            return flag
        votes = torch.tensor(float(flag), device=self._device())
        distributed.all_reduce(votes)
        return bool(votes > 0)

    def merge_rows(self, rows: NDArray[np.float16], written: NDArray[np.bool_]) -> None:
        """Give all processes the rows that any of them has written."""
        if self.size == 1:
            return
        mine = torch.from_numpy(np.where(written[:, None], rows, 0).astype(np.float32)).to(self._device())
        counts = torch.from_numpy(written.astype(np.float32)).to(self._device())
        distributed.all_reduce(mine)
        distributed.all_reduce(counts)
        somebody = (counts > 0).cpu().numpy()
        mean = (mine / counts.clamp(min=1)[:, None]).cpu().numpy()
        rows[somebody] = mean[somebody]

    def leave(self) -> None:
        """Say goodbye."""
        if self.size > 1:
            distributed.destroy_process_group()

    @staticmethod
    def _device() -> str:
        return "cuda" if distributed.get_backend() == "nccl" else "cpu"
