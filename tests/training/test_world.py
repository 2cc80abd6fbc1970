"""Two processes, started as torchrun starts them, do what one does with twice the accumulation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
import train_together
from safetensors.torch import load_file


def test_two_processes_are_one_with_twice_the_batches(tmp_path: Path) -> None:
    weights = tmp_path / "weights.safetensors"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [train_together.__file__, str(weights)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    alone = train_together.trained(accumulate=2).network.state_dict()
    found = load_file(weights)
    assert found.keys() == alone.keys()
    for name, value in alone.items():
        torch.testing.assert_close(found[name], value, atol=1e-4, rtol=1e-3)
