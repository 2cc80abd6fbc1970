"""Names and values of n-gram features, the same for every engine.

A name is the n-gram's word pieces joined by one space: `dome`, `gold dome`, `climb ##ing`. Inside a piece a dot (it
makes a feature silently unfindable in OpenSearch), a percent sign, white space, control and invisible formatting
characters are percent-encoded as UTF-8 bytes, so a name can be shown anywhere and turned back into its pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Written out instead of asked from `unicodedata`: a name must not change with the Unicode version of the interpreter.
_UNSAFE = re.compile(
    "[%.\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_ESCAPED = re.compile("(?:%[0-9A-F]{2})+")

# A float64 has 52 bits behind the leading one; 9 significant bits keep 8 of them.
_DROPPED = np.uint64((1 << (52 - 8)) - 1)
_SMALLEST = float(np.finfo(np.float32).tiny)
_LARGEST = float((2 - 2**-8) * 2.0**127)


def feature_name(pieces: Sequence[str]) -> str:
    """The readable name of an n-gram: `("gold", "dome")` is `gold dome`."""
    if not pieces or not all(pieces):
        raise ValueError(f"an n-gram needs at least one piece, none of them empty: {pieces!r}")
    return " ".join(map(_encode, pieces))


def parse_feature(name: str) -> tuple[str, ...]:
    """The pieces of a feature name; `ValueError` if no n-gram has this name."""
    try:
        pieces = tuple(_ESCAPED.sub(_decode, part) for part in name.split(" "))
        if feature_name(pieces) == name:
            return pieces
    except ValueError:  # an empty piece, or bytes that are no UTF-8
        pass
    raise ValueError(f"not the name of an n-gram: {name!r}")


def round_up_9bits(values: ArrayLike) -> NDArray[np.float32]:
    """Values rounded up to 9 significant bits, as float32; they must be finite and not negative.

    `rank_features` keeps 9 significant bits and cuts off the rest. Values that have no more lose nothing there, and
    rounded up they stay upper bounds. Positive values below the least normal float32 are raised to it.
    """
    exact = np.array(values, dtype=np.float64)  # a copy: it is changed in place
    if not np.all((exact >= 0) & (exact <= _LARGEST)):
        raise ValueError("feature values must be finite, not negative and at most 3.39e38")
    exact[(exact > 0) & (exact < _SMALLEST)] = _SMALLEST
    bits = exact.view(np.uint64)
    return ((bits + _DROPPED) & ~_DROPPED).view(np.float64).astype(np.float32)


@lru_cache(maxsize=1 << 16)
def _encode(piece: str) -> str:
    return _UNSAFE.sub(_escape, piece)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _decode(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "surrogatepass")
