"""The shim beside this file: built when it is needed, loaded before the C library of a process of its own."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("shim.c")
LIBRARY: Final = "chaos_shim.so"


class NoCompiler(Exception):
    """The shim cannot be built here."""


def build(folder: Path) -> Path:
    """Build it into a folder; `NoCompiler` where there is none, or no Linux."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or not Path("/proc/self/fd").is_dir():
        raise NoCompiler("this needs Linux and a C compiler (`cc`, or what CC names), to log or fail what a disk does")
    library = folder / LIBRARY
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    return library


def environment(library: Path, root: Path, log: Path | None = None) -> Mapping[str, str]:
    """The environment of a process that is watched, or made to fail, below a folder."""
    more = {"LD_PRELOAD": str(library), "CHAOS_ROOT": str(root.resolve())}
    return {**os.environ, **more, **({"CHAOS_LOG": str(log)} if log else {})}


def mark(number: int) -> None:
    """Write a number into the log: here this process has come to."""
    ctypes.CDLL(None).chaos_mark(ctypes.c_uint64(number))


def fail(kinds: str, error: int, after: int, times: int = -1) -> None:
    """Let calls of these kinds (as in shim.c) fail from now on, after some have passed; without end if times is -1."""
    ctypes.CDLL(None).chaos_fail(kinds.encode(), error, after, times)


def is_loaded() -> bool:
    """Whether this process has it."""
    return hasattr(ctypes.CDLL(None), "chaos_fail")
