"""The contract of a dense store: the nearest passages of a vector (`sparc_search.dense_stores`).

It keeps, on this machine, the vectors of an engine that does not search them itself. An entry point names a subclass of
`DenseStore`. `stores/derived.py` opens it, brings it up to date and sees to it that nothing is missing from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .errors import Unsupported
from .setting import Setting
from .stored import Hit, VectorChange


class DenseStore(ABC):
    """One vector for each passage id. Only one thread at a time uses it."""

    settings: ClassVar[tuple[Setting, ...]] = ()
    """The settings it declares; if there are some, `open` is handed their values as one more parameter, `values`."""

    generation: int
    """The state of the index up to which it has taken over everything; 0 if nothing."""

    @classmethod
    @abstractmethod
    def open(cls, location: Path, identity: str, *, writable: bool) -> Self:
        """Open what is kept in a folder; empty, if that is not whole or was made for another identity."""

    @abstractmethod
    def __len__(self) -> int:
        """How many vectors there are."""

    @abstractmethod
    def apply(self, change: VectorChange) -> None:
        """Forget what went, take over what came (an id that comes again is replaced), and be at its generation."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything; be at generation 0."""

    @abstractmethod
    def search(self, vectors: NDArray[np.float32], k: int, allowed: Iterable[str] | None) -> list[Sequence[Hit]]:
        """For each vector the k passages (of those allowed) of the largest inner product, ties by passage id."""

    def save(self) -> None:  # noqa: B027  (one that keeps nothing has nothing to do)
        """Write down what would take long to read again. Only called if it is writable and nothing is missing."""

    def differing(self, change: VectorChange) -> list[str]:
        """The ids among these whose vector is missing here, or another."""
        raise Unsupported("this dense store cannot check itself", "use one that can (--dense-store)")

    def close(self) -> None:  # noqa: B027
        """Let go of files."""
