"""From settings to what they name, opened: the encoder, the store, the dense store beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from . import plugins
from .errors import IndexNotFound, UsageError
from .interfaces import (
    Browsable,
    Compactable,
    Configurable,
    DenseSearch,
    DenseStore,
    Described,
    Encoder,
    Enumerable,
    Rebuildable,
    RebuildOpener,
    Reversible,
    Store,
    StoreOpener,
    VectorSource,
    Verifiable,
)
from .settings import Settings


def open_encoder(settings: Settings) -> Encoder:
    """The encoder that the settings name."""
    opened: Any = plugins.load("encoders", settings.encoder)(settings.model, threads=settings.threads)
    assert isinstance(opened, Encoder)
    return opened


def open_store(settings: Settings, encoder: str, *, writable: bool) -> Store:
    """The store that the settings name, for an encoder's fingerprint; an empty one opens whatever is there."""
    return store_opener(settings)(settings.index, encoder, writable=writable)


def store_opener(settings: Settings) -> StoreOpener:
    """What opens the store that the settings name."""
    opener = plugins.load("stores", settings.engine)
    if isinstance(opener, Configurable):
        return opener.with_settings({value.key: value.value for value in settings.values()})
    return opener


@contextmanager
def rebuild(settings: Settings, encoder: str) -> Iterator[Store]:
    """The store to come: it takes the old one's place when all is done, and not if anything goes wrong."""
    opener = store_opener(settings)
    if isinstance(opener, RebuildOpener):
        with opener.rebuild(settings.index, encoder) as new:
            yield new
        return
    try:
        store = open_store(settings, "", writable=True)
    except IndexNotFound:  # nothing to replace
        with closing(open_store(settings, encoder, writable=True)) as new:
            yield new
        return
    with closing(store), able_to(store, Part.REBUILD, "be made anew", settings).rebuilding(encoder) as new:
        yield new


def open_dense(store: Store, settings: Settings) -> DenseStore | None:
    """A dense store beside the store; none if the store searches vectors itself, in the way that is wanted."""
    own = getattr(store, "dense_store", "faiss")
    if settings.dense_store == own and isinstance(store, DenseSearch):
        return None
    if not isinstance(store, VectorSource):
        raise UsageError(
            f"the store {settings.engine!r} gives no vectors to a dense store", "set `strategy` to `sparse`"
        )
    location = Path(settings.index) / "dense"
    opened = plugins.load("dense_stores", settings.dense_store)(location, store, writable=False)
    assert isinstance(opened, DenseStore)
    return opened


class Part(Enum):
    """What a store may be able to do."""

    BROWSE = Browsable
    COMPACT = Compactable
    DESCRIBE = Described
    DOCUMENTS = Enumerable
    REBUILD = Rebuildable
    ROLLBACK = Reversible
    VERIFY = Verifiable


def able_to(store: Any, part: Part, what: str, settings: Settings) -> Any:
    """The store, if it can do that."""
    if isinstance(store, part.value):
        return store
    raise UsageError(f"the store {settings.engine!r} cannot {what}", "use one that can (--engine)")
