"""Finding plugins by name. Built-ins come in by the same door as everything else: entry points of this distribution.

load("readers", "markdown")   the object behind a name
names("encoders")             the names there are
describe()                    one line for each plugin, broken ones included
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Literal, get_args, overload

from .dense_store import DenseStore
from .encoder import EncoderOpener
from .engine import Engine
from .errors import PluginError, SparcSearchError
from .reader import Reader

Group = Literal["readers", "encoders", "stores", "dense_stores"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
DISTRIBUTION: Final = "sparc-search"


def _is_a(kind: type) -> Callable[[object], bool]:
    return lambda plugin: isinstance(plugin, type) and issubclass(plugin, kind)


_CHECKS: Final[Mapping[Group, tuple[Callable[[object], bool], str]]] = {
    "readers": (lambda plugin: isinstance(plugin, Reader), "an instance of sparc_search.reader.Reader"),
    "encoders": (callable, "something to call"),
    "stores": (_is_a(Engine), "a subclass of sparc_search.engine.Engine"),
    "dense_stores": (_is_a(DenseStore), "a subclass of sparc_search.dense_store.DenseStore"),
}
"""What the plugins of a group must be, and how that is said."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One registered plugin, loaded or not."""

    group: Group
    name: str
    origin: str
    """Distribution and version it came with."""
    summary: str
    """First line of its docstring."""
    problem: str = ""
    """Why it cannot be used; empty if it can."""


@overload
def load(group: Literal["readers"], name: str) -> Reader: ...
@overload
def load(group: Literal["stores"], name: str) -> type[Engine]: ...
@overload
def load(group: Literal["encoders"], name: str) -> EncoderOpener: ...
@overload
def load(group: Literal["dense_stores"], name: str) -> type[DenseStore]: ...
def load(group: Group, name: str) -> Any:
    """The plugin `name` of a group; an unknown name is answered with the known ones."""
    for entry in _entries(group):
        if entry.name == name:
            return _load(group, entry)
    raise _unknown(group, name)


def names(group: Group) -> list[str]:
    """The names registered in a group, sorted."""
    return sorted({entry.name for entry in _entries(group)})


def describe() -> list[Plugin]:
    """Every plugin of every group; a broken or shadowed one carries its problem instead of failing."""
    return [plugin for group in GROUPS for plugin in _describe_group(group)]


def _entries(group: Group) -> list[EntryPoint]:
    """Entry points in order of precedence: built-ins first, then by distribution, so that the winner never varies."""
    found = entry_points(group=f"sparc_search.{group}")
    return sorted(found, key=lambda entry: (_distribution(entry) != DISTRIBUTION, entry.name, _distribution(entry)))


def _load(group: Group, entry: EntryPoint) -> Any:
    try:
        plugin = entry.load()
    except SparcSearchError:
        raise
    except Exception as error:  # a plugin's import may fail in any way
        raise PluginError(
            f"plugin {entry.name!r} of {_origin(entry)} does not load: {type(error).__name__}: {error}",
            f"reinstall or uninstall the distribution {_distribution(entry)!r}",
        ) from error
    fits, wanted = _CHECKS[group]
    if not fits(plugin):
        raise PluginError(f"plugin {entry.name!r} of {_origin(entry)} is not {wanted}", "see docs/plugins.md")
    return plugin


def _describe_group(group: Group) -> list[Plugin]:
    winners: dict[str, EntryPoint] = {}
    found = []
    for entry in _entries(group):
        winner = winners.setdefault(entry.name, entry)
        summary, problem = _summary(group, entry)
        if winner is not entry:
            problem = f"hidden by the plugin of this name from {_origin(winner)}"
        found.append(Plugin(group, entry.name, _origin(entry), summary, problem))
    return found


def _summary(group: Group, entry: EntryPoint) -> tuple[str, str]:
    try:
        return _first_line(_load(group, entry)), ""
    except SparcSearchError as error:
        return "", str(error)


def _first_line(plugin: object) -> str:
    return (inspect.getdoc(plugin) or "").partition("\n")[0]


def _unknown(group: Group, name: str) -> PluginError:
    known = names(group)
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(known) or "none"
    return PluginError(f"no plugin {name!r} in {group}", f"{guess}known are: {listed}")


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "?"


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "?"
