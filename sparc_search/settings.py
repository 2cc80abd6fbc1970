"""Settings, and where each of them came from: flag > environment > ./sparc-search.toml > user folder > default.

settings = load({"top_k": 3})
settings.top_k                                  3
settings.sources["top_k"]                       "flag --top-k"
settings.of_plugin("stores", "opensearch")      {"url": "http://127.0.0.1:9200", …}

The core's settings are the fields of `Settings`. A plugin declares its own (see `setting.py`), and they come from the
same places. Its declarations are looked up only where they are needed: for a key that the core does not know, for the
plugin that is opened, and to show all there are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .errors import ConfigError
from .setting import MASK, PREFIX, Setting

if TYPE_CHECKING:
    from .plugins import Group
    from .trust import Trusted

FILE_NAME: Final = "sparc-search.toml"
_MANY: Final = 1_000_000
"""More is asked for by a slip, or to fill the memory."""
_HERE: Final = Path()
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def _setting(default: Any, help: str, **more: Any) -> Any:
    """A field that knows all there is to say about it: the rest of its `Setting`."""
    return field(default=default, repr=not more.get("secret"), metadata={"help": help, **more})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run; `sources` says where each value came from.

    What could run code, move secrets or reach out of a folder is not harmless. SECURITY.md has the reasons.
    """

    index: Path = _setting(Path(".sparc-search/index"), "Folder of the index.", path=True, harmless=True)
    engine: str = _setting("local", "Store that keeps passages and answers sparse queries (a plugin).")
    encoder: str = _setting("onnx", "Encoder that turns text into vectors and weights (a plugin).")
    model: str = _setting("default", "Model folder, or `default` for the one in the package.", path=True)
    dense_store: str = _setting("faiss", "Store of passage vectors (a plugin).")
    strategy: str = _setting("hybrid", "Who proposes passages.", choices=("hybrid", "sparse", "dense"), harmless=True)
    read: str = _setting(
        "never",
        "Passages that a reader reads again: `never`, `auto` (where the fast answer is doubtful), or how many.",
        harmless=True,
    )
    read_with: str = _setting("default", "Reader folder, or `default` for the one in the package.", path=True)
    top_k: int = _setting(5, "Answers to return.", least=1, most=_MANY, harmless=True)
    unit: str = _setting(
        "phrase",
        "How much is an answer: the phrase, or what holds it.",
        choices=("phrase", "sentence", "passage", "document"),
        harmless=True,
    )
    min_confidence: float = _setting(
        0.2, "Confidence below which the best answer is called a guess; 0 for never.", least=0, most=1, harmless=True
    )
    sparse_candidates: int = _setting(20, "Passages proposed by sparse search.", least=1, most=_MANY, harmless=True)
    dense_candidates: int = _setting(20, "Passages proposed by dense search.", least=1, most=_MANY, harmless=True)
    lex_weight: float = _setting(0.3, "Weight of the lexical part of the score.", least=0, harmless=True)
    first_stage_lex_weight: float = _setting(
        0.3, "Weight of the lexical part where sparse search proposes passages.", least=0, harmless=True
    )
    partial: str = _setting(
        "flag",
        "What becomes of answers when a part of the index cannot be searched: shown with a flag, or refused.",
        choices=("flag", "refuse"),
        harmless=True,
    )
    host: str = _setting("127.0.0.1", "Address that `serve` listens at; other machines need a token.")
    port: int = _setting(
        8000, "Port that `serve` listens at; 0 takes any that is free.", least=0, most=65535, harmless=True
    )
    token: str = _setting("", "Token that clients of `serve` must send.", secret=True)
    token_file: str = _setting("", "File that holds the token of `serve`.", path=True)
    connections: int = _setting(
        500, "Connections that `serve` keeps open; fewer where the process may not open as many files.", least=8
    )
    request_seconds: float = _setting(20.0, "Seconds in which a request to `serve` must have arrived.", least=0.1)
    login_tries: int = _setting(
        10, "Wrong tokens that `serve` takes from one address before that has to wait; 0 for no brake.", least=0
    )
    threads: int = _setting(0, "Processor threads; 0 lets the libraries choose.", least=0, most=_MANY, harmless=True)
    log_level: str = _setting(
        "warning", "Least severity that is logged.", choices=("debug", "info", "warning", "error"), harmless=True
    )
    log_format: str = _setting(
        "text", "Logs as text or as one JSON object a line.", choices=("text", "json"), harmless=True
    )
    plugin_values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What was given for settings of plugins; `of_plugin` adds the defaults."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    def of_plugin(self, group: Group, name: str) -> dict[str, Any]:
        """The settings that a plugin declares, each with its value: what was given, or its default."""
        from .plugins import settings_of

        declared = settings_of(group, name)
        if declared:
            known = (*_declarations(installed=False), *((f"{group} {name}", setting) for setting in declared))
            _agreed(known, {setting.name for setting in declared})
        return {setting.name: self._value(setting) for setting in declared}

    def changed(self, **values: Any) -> Settings:
        """The same with other values, of the core or of plugins."""
        return self._with(_from_flags(values, lambda setting: "program"))

    def values(self) -> Iterator[Value]:
        """Every setting of the core and of all plugins that are installed, with its source."""
        for setting in all_declared().values():
            yield Value(setting, self._value(setting), self.sources.get(setting.name, "default"))

    def _value(self, setting: Setting) -> Any:
        if setting.name in CORE:
            return getattr(self, setting.name)
        return self.plugin_values.get(setting.name, setting.default)

    def _with(self, found: _Found) -> Settings:
        core = {key: given.value for key, given in found.items() if key in CORE}
        others = {key: given.value for key, given in found.items() if key not in CORE}
        sources = {key: given.source for key, given in found.items()}
        return replace(
            self,
            **core,
            plugin_values=MappingProxyType({**self.plugin_values, **others}),
            sources=MappingProxyType({**self.sources, **sources}),
        )


class Value(NamedTuple):
    """The value of a setting, and where it came from."""

    setting: Setting
    value: Any
    source: str

    @property
    def key(self) -> str:
        """The name of the setting."""
        return self.setting.name

    @property
    def shown(self) -> object:
        """The value, fit to be printed: secrets are masked, paths are text."""
        if self.setting.secret and self.value:
            return MASK
        return str(self.value) if isinstance(self.value, Path) else self.value


CORE: Final[Mapping[str, Setting]] = MappingProxyType(
    {f.name: Setting(f.name, f.default, **f.metadata) for f in fields(Settings) if f.metadata}
)


def load(
    flags: Mapping[str, object] = _NOTHING,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user_folder: Path | None = None,
) -> Settings:
    """Gather settings from all sources; the parameters stand in for the process's own environment and folders."""
    return read(environ=environ, folder=folder, user_folder=user_folder).settings(flags)


def read(
    *, environ: Mapping[str, str] | None = None, folder: Path | None = None, user_folder: Path | None = None
) -> Sources:
    """Read files and environment once."""
    user_folder = user_config_folder() if user_folder is None else user_folder
    mine, theirs = (_File.read(place / FILE_NAME) for place in (user_folder, folder or Path()))
    if theirs.path.absolute() == mine.path.absolute():
        theirs = replace(theirs, found={})  # the user's own folder is the current one
    return Sources(mine, theirs, _from_environment(os.environ if environ is None else environ), user_folder)


@dataclass(frozen=True, slots=True)
class Sources:
    """What files and environment say; flags come on top."""

    user: _File
    folder: _File
    environment: _Found = field(repr=False)
    user_folder: Path

    def settings(self, flags: Mapping[str, object] = _NOTHING) -> Settings:
        """The settings of a run; `ConfigError` if some of them need trust in the folder that the user has not given."""
        if refused := self.refused(flags):
            raise self._refusal(refused)
        return self.unguarded(flags)

    def unguarded(self, flags: Mapping[str, object] = _NOTHING) -> Settings:
        """The same without a look at trust: to be shown, never to be acted upon."""
        given = _from_flags(flags, lambda setting: f"flag {setting.flag}")
        return Settings()._with(self.user.found | self.folder.found | self.environment | given)

    def asking(self, flags: Mapping[str, object] = _NOTHING) -> list[Setting]:
        """The settings that the folder's file decides, and may decide only if the folder is trusted."""
        stronger = {*self.environment, *(key for key, value in flags.items() if value is not None)}
        return [
            given.setting
            for key, given in self.folder.found.items()
            if key not in stronger and not self._is_free(given)
        ]

    def refused(self, flags: Mapping[str, object] = _NOTHING) -> list[Setting]:
        """The same if the folder is not trusted."""
        asking = self.asking(flags)
        return [] if not asking or self.trusted().holds(self.folder.path.parent, self.folder.digest) else asking

    def trusted(self) -> Trusted:
        """The folders that the user trusts."""
        from .trust import Trusted

        return Trusted.read(self.user_folder)

    def _is_free(self, given: Value) -> bool:
        """Whether the folder's file may say so without trust: it is harmless, or changes nothing."""
        mine = self.user.found.get(given.setting.name)
        if given.value == (mine.value if mine else given.setting.default):
            return True
        return given.setting.harmless and (not given.setting.path or self.folder.holds(Path(given.value)))

    def _refusal(self, refused: list[Setting]) -> ConfigError:
        from shlex import quote

        folder = self.folder.path.parent.resolve()
        why = "has changed since you trusted it" if self.trusted().knows(folder) else "is in a folder you do not trust"
        named = ", ".join(setting.name + (" (outside the folder)" if setting.harmless else "") for setting in refused)
        return ConfigError(
            f"{folder / FILE_NAME} {why}, and sets: {named}",
            "they decide where questions, texts and secrets go, or which files and code are used. Read the file, then "
            f"allow it with `sparc-search config trust {quote(str(folder))}`; or set them by a flag, in the "
            f"environment or in {self.user.path}",
        )


def user_config_folder() -> Path:
    """The folder of the user's own `sparc-search.toml`."""
    system: str = sys.platform
    if system == "linux":  # what platformdirs does there, without its import
        base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        return Path(base, "sparc-search")
    import platformdirs

    return Path(platformdirs.user_config_dir("sparc-search", appauthor=False))


def all_declared() -> dict[str, Setting]:
    """Every setting of the core and of all plugins that are installed, by its name."""
    return _agreed(_declarations(installed=True))


_Found = dict[str, Value]


@dataclass(frozen=True, slots=True)
class _File:
    """A `sparc-search.toml`: what it says, and the hash of the bytes that say it."""

    path: Path
    found: _Found = field(default_factory=dict, repr=False)
    digest: str = ""

    @classmethod
    def read(cls, path: Path) -> _File:
        """Read and check a file; one that is not there says nothing."""
        try:
            if path.exists() and not path.is_file():  # whoever opens a pipe waits for somebody to write
                raise ConfigError(f"{path} is no file", "remove it")
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return cls(path)
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}", "make the file readable or remove it") from error
        import tomllib

        from .trust import digest

        try:
            table = tomllib.loads(content.decode("utf-8"))
        except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested without end
            raise ConfigError(f"{path} is not valid TOML: {error}", "correct the file") from error
        source = f"file {path}"
        settings = {key: find(key, source) for key in table}
        found = {key: _checked(setting, table[key], source, path.parent) for key, setting in settings.items()}
        return cls(path, found, digest(content))

    def holds(self, path: Path) -> bool:
        """Whether a path leads into the file's folder, links followed."""
        return path.resolve().is_relative_to(self.path.parent.resolve())


def _from_environment(environ: Mapping[str, str]) -> _Found:
    found = {}
    for name, text in environ.items():
        if name.startswith(PREFIX) and text:  # set to nothing is not set
            source = f"environment {name}"
            key = name.removeprefix(PREFIX).lower()
            setting = find(key, source, spell=lambda key: PREFIX + key.upper())
            found[key] = _checked(setting, setting.parsed(text), source)
    return found


def _from_flags(flags: Mapping[str, object], source_of: Callable[[Setting], str]) -> _Found:
    given = {key: value for key, value in flags.items() if value is not None}
    return {key: _checked(setting := find(key), value, source_of(setting)) for key, value in given.items()}


def _checked(setting: Setting, value: object, source: str, base: Path = _HERE) -> Value:
    return Value(setting, setting.checked(value, source, base), source)


def find(key: str, source: str = "program", spell: Callable[[str], str] = str) -> Setting:
    """The setting of a name. Other distributions are asked only for a name that is not known here."""
    if key in CORE:
        return CORE[key]
    for installed in (False, True):
        if found := _agreed(_declarations(installed=installed), {key}):
            return found[key]
    from difflib import get_close_matches

    known = all_declared()
    near = get_close_matches(key, known, n=1)
    guess = f"did you mean {spell(near[0])}?" if near else f"known are: {', '.join(map(spell, known))}"
    raise ConfigError(f"unknown setting {spell(key)} ({source})", guess)


def _declarations(*, installed: bool) -> Iterator[tuple[str, Setting]]:
    """Who declares what: the core, the built-in plugins, and if asked for, those of other distributions."""
    yield from (("sparc-search", setting) for setting in CORE.values())
    from .plugins import declarations

    yield from declarations(installed=installed)


def _agreed(declared: Iterable[tuple[str, Setting]], only: Container[str] | None = None) -> dict[str, Setting]:
    """Settings by name (all, or only some names); two that declare one name must mean the same."""
    found: dict[str, tuple[str, Setting]] = {}
    for owner, setting in declared:
        if only is None or setting.name in only:
            first, known = found.setdefault(setting.name, (owner, setting))
            if known != setting:
                raise ConfigError(
                    f"{first} and {owner} both declare the setting {setting.name}, each in its own way",
                    "uninstall one of the two distributions",
                )
    return {name: setting for name, (_, setting) in found.items()}
