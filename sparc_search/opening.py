"""The one way to open what the settings name: an engine, an encoder, the vectors beside an engine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from . import plugins
from .encoder import Encoder
from .engine import Engine, Place
from .errors import PluginError
from .settings import Settings
from .stores.derived import DerivedVectors


def open_encoder(settings: Settings) -> Encoder:
    """The encoder that the settings name."""
    own = settings.of_plugin("encoders", settings.encoder)
    more: dict[str, Any] = {"values": own} if own else {}  # only whoever declares settings knows the parameter
    opened = plugins.load("encoders", settings.encoder)(settings.model, threads=settings.threads, **more)
    if not isinstance(opened, Encoder):
        raise PluginError(f"what the plugin {settings.encoder!r} opens is no Encoder", "see docs/plugins.md")
    return opened


def open_engine(settings: Settings, encoder: str = "", *, writable: bool = False) -> Engine:
    """The index that the settings name, for an encoder's fingerprint; an empty one opens whatever is there."""
    return _engine(settings).open(place_of(settings), encoder, writable=writable)


def rebuild_engine(settings: Settings, encoder: str) -> AbstractContextManager[Engine]:
    """The index to come; it takes the old one's place when the context ends without an error."""
    return _engine(settings).rebuild(place_of(settings), encoder)


def upgrade_engine(settings: Settings) -> bool:
    """Bring an index of an older format up to this one, as far as that needs no model; whether it did."""
    return _engine(settings).upgrade(place_of(settings))


def restore_engine(settings: Settings, source: Path, *, replace: bool) -> Mapping[str, object]:
    """Make a backup the index that the settings name; what it holds."""
    return _engine(settings).restore(place_of(settings), source, replace=replace)


def derived_vectors(settings: Settings, engine: Engine) -> DerivedVectors:
    """The vectors of an engine on this machine; nothing is read or written before they are needed."""
    values = settings.of_plugin("dense_stores", settings.dense_store)
    return DerivedVectors(engine, settings.index, settings.dense_store, values)


def place_of(settings: Settings) -> Place:
    """Where the index is that the settings name."""
    return Place(settings.index, settings.of_plugin("stores", settings.engine))


def _engine(settings: Settings) -> type[Engine]:
    return plugins.load("stores", settings.engine)
