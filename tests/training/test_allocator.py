"""Memory that is freed and asked for again comes without a visit to the kernel."""

from __future__ import annotations

import subprocess
import sys

_FAULTS = """
import resource, sys
import numpy as np
from sparc_search.training.allocator import keep_freed_memory

told = keep_freed_memory() if sys.argv[1] == "kept" else True
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    del_me = np.ones(1 << 24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults() if told else -1)
"""


def faults(how: str) -> int:
    """Pages that a block of 128 MB touches for the first time, the second time it is asked for."""
    done = subprocess.run([sys.executable, "-c", _FAULTS, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_freed_memory_stays() -> None:
    kept = faults("kept")
    assert kept == -1 or kept < 16 < faults("given back")  # -1: another allocator than glibc's
