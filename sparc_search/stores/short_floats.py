"""Positive float32 values of 9 significant bits as 16 bits: no sign, 8 of exponent, 8 behind the leading one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def shorten(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """16 bits for each value."""
    return (values.astype("<f4").view("<u4") >> 15).astype("<u2")


def unshorten(values: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values that `shorten` was given."""
    return (values.astype("<u4") << 15).view("<f4")
