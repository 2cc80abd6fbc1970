"""Let freed memory stay with the process: a step frees and asks again for the same gigabytes.

glibc gives large blocks back to the kernel at once and gets them as new pages, each zeroed at its first touch. In a
training step on a processor that takes longer than many of the products.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # names of malloc.h
_LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Whether the allocator could be told; others than glibc's are left as they are."""
    if sys.platform != "linux":
        return False
    told = getattr(ctypes.CDLL(None), "mallopt", None)
    if told is None:
        return False
    wishes = {_MMAP_MAX: 0, _TRIM_THRESHOLD: _LARGEST, _TOP_PAD: 2**28}
    return all(told(name, value) == 1 for name, value in wishes.items())
