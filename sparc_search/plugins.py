"""Finding plugins by name: the built-in ones in a table, all others by the entry points of installed distributions.

load("readers", "markdown")          the object behind a name
names("encoders")                    the names there are
settings_of("stores", "opensearch")  the settings that it declares
describe()                           one line for each plugin, broken ones included

A built-in plugin is found without a look at the metadata of all that is installed: that takes longer than a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, overload

from .errors import PluginError, SparcSearchError
from .setting import Setting

if TYPE_CHECKING:  # the contracts import numpy
    from .dense_store import DenseStore
    from .encoder import EncoderOpener
    from .engine import Engine
    from .reader import Reader

Group = Literal["readers", "encoders", "stores", "dense_stores"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
DISTRIBUTION: Final = "sparc-search"

# The entry points of setup.cfg; tests/test_plugins.py compares the two.
BUILT_IN: Final[Mapping[Group, Mapping[str, str]]] = {
    "readers": {
        "text": "sparc_search.loaders.text:reader",
        "markdown": "sparc_search.loaders.markdown:reader",
        "mail": "sparc_search.loaders.mail:reader",
        "rst": "sparc_search.loaders.rst:reader",
        "tex": "sparc_search.loaders.tex:reader",
        "rtf": "sparc_search.loaders.rtf:reader",
        "code": "sparc_search.loaders.code:reader",
        "json": "sparc_search.loaders.json:reader",
        "chat": "sparc_search.loaders.chat:reader",
        "notebook": "sparc_search.loaders.notebook:reader",
        "subtitles": "sparc_search.loaders.subtitles:reader",
        "odt": "sparc_search.loaders.office:odt",
        "pptx": "sparc_search.loaders.office:pptx",
        "epub": "sparc_search.loaders.office:epub",
        "xlsx": "sparc_search.loaders.office:xlsx",
        "jsonl": "sparc_search.loaders.jsonl:reader",
        "html": "sparc_search.loaders.html:reader",
        "pdf": "sparc_search.loaders.pdf:reader",
        "docx": "sparc_search.loaders.docx:reader",
        "csv": "sparc_search.loaders.csv:reader",
        "squad": "sparc_search.loaders.squad:reader",
        "parquet": "sparc_search.loaders.parquet:reader",
        "wikipedia": "sparc_search.loaders.wikipedia:reader",
    },
    "encoders": {
        "onnx": "sparc_search.model.encoder_onnx:open_encoder",
        "torch": "sparc_search.model.encoder_torch:open_encoder",
    },
    "stores": {
        "local": "sparc_search.stores.local:LocalEngine",
        "opensearch": "sparc_search.stores.opensearch:OpenSearchEngine",
    },
    "dense_stores": {
        "faiss": "sparc_search.stores.dense:FaissStore",
    },
}
# What built-in plugins have as `settings`, where it can be read without loading them.
BUILT_IN_SETTINGS: Final[Mapping[tuple[Group, str], str]] = {
    ("stores", "opensearch"): "sparc_search.stores.opensearch_settings:SETTINGS",
}


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
    return _load(_entry(group, name))


def names(group: Group) -> list[str]:
    """The names registered in a group, sorted."""
    return sorted({entry.name for entry in _entries(group)})


def settings_of(group: Group, name: str) -> tuple[Setting, ...]:
    """The settings that a plugin declares."""
    if name in BUILT_IN[group]:
        target = BUILT_IN_SETTINGS.get((group, name))
        return _resolve(target) if target else ()
    return _declared(_entry(group, name))


def declarations(*, installed: bool) -> Iterator[tuple[str, Setting]]:
    """Every setting of every plugin, with the name of the plugin; of those that are installed beside only if asked.

    Plugins that do not load declare nothing here: `describe` tells of them.
    """
    for (group, name), target in BUILT_IN_SETTINGS.items():
        yield from ((f"{group} {name} of {DISTRIBUTION}", setting) for setting in _resolve(target))
    if not installed:
        return
    for entry in (entry for group in GROUPS for entry in _installed(group)):
        try:
            found = _declared(entry)
        except SparcSearchError:
            continue
        yield from ((f"{entry.group} {entry.name} of {entry.distribution}", setting) for setting in found)


def describe() -> list[Plugin]:
    """Every plugin of every group; a broken or hidden one carries its problem instead of failing."""
    return [plugin for group in GROUPS for plugin in _describe_group(group)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a plugin is (`module:attribute`) and which distribution says so."""

    group: Group
    name: str
    target: str
    distribution: str = DISTRIBUTION
    version: str = ""

    @property
    def origin(self) -> str:
        from . import __version__

        return f"{self.distribution} {self.version or __version__}"


def _entry(group: Group, name: str) -> _Entry:
    if name in BUILT_IN[group]:
        return _Entry(group, name, BUILT_IN[group][name])
    for entry in _installed(group):
        if entry.name == name:
            return entry
    raise _unknown(group, name)


def _entries(group: Group) -> list[_Entry]:
    """In order of precedence, and by name: built-ins first, then by distribution, so that the winner never varies."""
    return [*(_Entry(group, *item) for item in sorted(BUILT_IN[group].items())), *_installed(group)]


def _installed(group: Group) -> list[_Entry]:
    """The plugins of other distributions, from their metadata."""
    from importlib.metadata import entry_points

    found = []
    for entry in entry_points(group=f"sparc_search.{group}"):
        origin = (entry.dist.name, entry.dist.version) if entry.dist else ("?", "?")
        if origin[0] != DISTRIBUTION:
            found.append(_Entry(group, entry.name, entry.value.partition("[")[0].strip(), *origin))
    return sorted(found, key=lambda entry: (entry.name, entry.distribution))


def _load(entry: _Entry) -> Any:
    try:
        plugin = _resolve(entry.target)
    except SparcSearchError:
        raise
    except Exception as error:  # a plugin's import may fail in any way
        raise PluginError(
            f"plugin {entry.name!r} of {entry.origin} does not load: {type(error).__name__}: {error}",
            f"reinstall or uninstall the distribution {entry.distribution!r}",
        ) from error
    fits, wanted = _CHECKS[entry.group]
    if not fits(plugin):
        raise PluginError(f"plugin {entry.name!r} of {entry.origin} is not {wanted}", "see docs/plugins.md")
    return plugin


def _declared(entry: _Entry) -> tuple[Setting, ...]:
    found = getattr(_load(entry), "settings", ())
    if not (isinstance(found, tuple) and all(isinstance(setting, Setting) for setting in found)):
        raise PluginError(
            f"`settings` of plugin {entry.name!r} of {entry.origin} is not a tuple of `Setting`", "see docs/plugins.md"
        )
    return found


def _is_reader(plugin: object) -> bool:
    from .reader import Reader

    return isinstance(plugin, Reader)


def _is_engine(plugin: object) -> bool:
    from .engine import Engine

    return isinstance(plugin, type) and issubclass(plugin, Engine)


def _is_dense_store(plugin: object) -> bool:
    from .dense_store import DenseStore

    return isinstance(plugin, type) and issubclass(plugin, DenseStore)


_CHECKS: Final[Mapping[Group, tuple[Callable[[object], bool], str]]] = {
    "readers": (_is_reader, "an instance of sparc_search.reader.Reader"),
    "encoders": (callable, "something to call"),
    "stores": (_is_engine, "a subclass of sparc_search.engine.Engine"),
    "dense_stores": (_is_dense_store, "a subclass of sparc_search.dense_store.DenseStore"),
}
"""What the plugins of a group must be, and how that is said."""


def _resolve(target: str) -> Any:
    """The object at `module:attribute`."""
    module, _, attributes = target.partition(":")
    return reduce(getattr, attributes.split("."), import_module(module))


def _describe_group(group: Group) -> list[Plugin]:
    winners: dict[str, _Entry] = {}
    found = []
    for entry in _entries(group):
        winner = winners.setdefault(entry.name, entry)
        summary, problem = _summary(entry)
        if winner is not entry:
            problem = f"hidden by the plugin of this name from {winner.origin}"
        found.append(Plugin(group, entry.name, entry.origin, summary, problem))
    return found


def _summary(entry: _Entry) -> tuple[str, str]:
    from inspect import getdoc

    try:
        return (getdoc(_load(entry)) or "").partition("\n")[0], ""
    except SparcSearchError as error:
        return "", str(error)


def _unknown(group: Group, name: str) -> PluginError:
    from difflib import get_close_matches

    known = names(group)
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return PluginError(f"no plugin {name!r} in {group}", f"{guess}known are: {', '.join(known)}")
