"""A small training run that is the same in one process and in several: torchrun runs this file, tests import it."""

from __future__ import annotations

import sys

import torch
from safetensors.torch import save_file
from tiny_model import tiny_network
from tiny_training import CLS_SEP_PAD, random_passages

from sparc_search.training.batches import BatchShape
from sparc_search.training.loop import Training, TrainingSettings
from sparc_search.training.world import World


def trained(accumulate: int) -> Training:
    """Two epochs and a bit: the second mines by the vectors that the processes tell each other."""
    torch.set_num_threads(1)
    shape = BatchShape(passages=4, group=2, questions_per_passage=2)
    settings = TrainingSettings(
        steps=5, rate=1e-3, warm_up=2, cool_down=3, evaluate_every=4, accumulate=accumulate, batch=shape
    )
    data = random_passages(0, 16, 3), random_passages(1, 4)
    run = Training(tiny_network(), *data, CLS_SEP_PAD, settings, world=World.join("cpu"))
    run.run(lambda news: None)
    return run


if __name__ == "__main__":
    run = trained(accumulate=1)
    if run.world.leads:
        save_file({name: value.contiguous() for name, value in run.network.state_dict().items()}, sys.argv[1])
    run.world.leave()
