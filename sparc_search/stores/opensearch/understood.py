"""What a server answers comes from outside: one without the parts it must have is an error of ours, not a KeyError.

Requests go through one door (`server.py`), but what an answer holds is looked at in many places. So whatever can come
out of looking at a wrong one is translated where the engine is entered: in the public methods of its classes.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from typing import Any, Final, TypeVar

from ...errors import EngineError

_NOT_UNDERSTOOD: Final = (LookupError, TypeError, AttributeError, ValueError, struct.error)

_END: Final = object()

Class = TypeVar("Class", bound=type)


@contextmanager
def understood() -> Iterator[None]:
    """Turn what comes of a wrong answer into an `EngineError`. Also a decorator of functions."""
    try:
        yield
    except _NOT_UNDERSTOOD as error:
        raise EngineError(
            f"the server answered something that is not understood ({type(error).__name__}: {error})",
            "see whether `url` names the right server; `sparc-search index verify` looks at all that is stored there",
        ) from error


def understanding(kind: Class) -> Class:
    """A class whose public methods do so."""
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(kind, name, _generating(method) if inspect.isgeneratorfunction(method) else understood()(method))
    return kind


def _generating(method: Callable[..., Generator[Any, None, None]]) -> Callable[..., Iterator[Any]]:
    @wraps(method)
    def generate(*arguments: Any, **options: Any) -> Iterator[Any]:
        with closing(method(*arguments, **options)) as results:
            while True:
                with understood():  # and not what the caller does with a result
                    result = next(results, _END)
                if result is _END:
                    return
                yield result

    return generate
