"""In which arithmetic training computes: fp32, or bf16 for the products with weights and sums kept in fp32.

Processors with AMX multiply bf16 two to four times as fast as fp32; with avx512_bf16 alone some are faster, and some
slower. A machine may claim such instructions and fail to run them, so a child process tries and times them first.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext

import torch

from ..errors import UsageError

ARITHMETICS = ("auto", "fp32", "bf16")
_QUICK = 0.75
"""Share of fp32's time from which on bf16 is worth its roundings: not all of a step is products."""
_TRIAL = """
import time, torch
def seconds(kind):
    a, b = torch.ones(2048, 384, dtype=kind), torch.ones(384, 1536, dtype=kind)
    assert float((a[:64] @ a[:64].T)[0, 0]) == 384
    def once():
        began = time.perf_counter()
        a @ b
        return time.perf_counter() - began
    return min(once() for _ in range(12))
print(seconds(torch.bfloat16) / seconds(torch.float32))
"""


def chosen_arithmetic(wanted: str, device: str) -> str:
    """`auto` is bf16 on a processor that is quick at it and shows that it works, else fp32."""
    if wanted not in ARITHMETICS:
        raise UsageError(f"no arithmetic is called {wanted!r}", f"choose one of {', '.join(ARITHMETICS)}")
    if device != "cpu" or wanted == "fp32":
        return "bf16" if wanted == "bf16" else "fp32"
    share = _share_of_fp32()
    if share is None and wanted == "bf16":
        raise UsageError(
            "bf16 products do not work on this processor", "use fp32, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"
        )
    return "bf16" if share is not None and (wanted == "bf16" or share < _QUICK) else "fp32"


def autocast(arithmetic: str, device: str) -> AbstractContextManager[object]:
    """The context in which a network runs forward."""
    return torch.autocast(device, torch.bfloat16) if arithmetic == "bf16" else nullcontext()


def _share_of_fp32() -> float | None:
    """The time of a product in bf16 as a share of that in fp32; None where it fails.

    An instruction that the processor lacks would kill the process that tries it.
    """
    tried = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, text=True, check=False)
    return float(tried.stdout) if tried.returncode == 0 else None
