"""In which arithmetic training computes: fp32, or bf16 for the products with weights and sums kept in fp32.

Processors with AMX multiply bf16 two to four times as fast as fp32; with avx512_bf16 alone a training step is
slower than in fp32. A machine may claim such instructions and fail to run them, so a child process tries first.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext

import torch

from ..errors import UsageError

ARITHMETICS = ("auto", "fp32", "bf16")
_TRIAL = "import torch; a = torch.ones(64, 384, dtype=torch.bfloat16); assert float((a @ a.T)[0, 0]) == 384"


def chosen_arithmetic(wanted: str, device: str) -> str:
    """`auto` is bf16 on a processor that is quick at it and shows that it works, else fp32."""
    if wanted not in ARITHMETICS:
        raise UsageError(f"no arithmetic is called {wanted!r}", f"choose one of {', '.join(ARITHMETICS)}")
    if wanted == "fp32" or (wanted == "auto" and not (device == "cpu" and _claimed())):
        return "fp32"
    if device != "cpu" or _works():
        return "bf16"
    if wanted == "auto":
        return "fp32"
    raise UsageError(
        "bf16 products do not work on this processor", "use fp32, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"
    )


def autocast(arithmetic: str, device: str) -> AbstractContextManager[object]:
    """The context in which a network runs forward."""
    return torch.autocast(device, torch.bfloat16) if arithmetic == "bf16" else nullcontext()


def _claimed() -> bool:
    return bool(torch.cpu._is_amx_tile_supported())


def _works() -> bool:
    """An instruction that the processor lacks would kill the process that tries it."""
    return subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, check=False).returncode == 0
