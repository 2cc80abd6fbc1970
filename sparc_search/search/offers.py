"""What a store can do besides the least, looked up once for a class: looking takes as long as fetching passages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

Offered = TypeVar("Offered")

_known: dict[tuple[type, Any], bool] = {}


def offers(store: object, protocol: Callable[..., Offered]) -> TypeGuard[Offered]:
    """`isinstance(store, protocol)`, remembered by class."""
    key = (type(store), protocol)
    found = _known.get(key)
    if found is None:
        wanted: Any = protocol
        found = _known[key] = isinstance(store, wanted)
    return found
