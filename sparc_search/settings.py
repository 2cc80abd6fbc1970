"""Settings, and where each of them came from: flag > environment > ./sparc-search.toml > user folder > default.

settings = load({"top_k": 3})
settings.top_k              3
settings.sources["top_k"]   "flag --top-k"
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from .errors import ConfigError

PREFIX: Final = "SPARC_SEARCH_"
FILE_NAME: Final = "sparc-search.toml"
MASK: Final = "********"


def _setting(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    path: bool = False,
    secret: bool = False,
) -> Any:
    """A field that knows all there is to say about it: its help, and which values it takes."""
    about = {"help": help, "choices": choices, "least": least, "path": path, "secret": secret}
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run; `sources` says where each value came from."""

    index: Path = _setting(Path(".sparc-search/index"), "Folder of the index.")
    engine: str = _setting("local", "Store that keeps passages and answers sparse queries (a plugin).")
    encoder: str = _setting("onnx", "Encoder that turns text into vectors and weights (a plugin).")
    model: str = _setting("default", "Model folder, or `default` for the one in the package.", path=True)
    dense_store: str = _setting("faiss", "Store of passage vectors (a plugin).")
    url: str = _setting(
        "http://127.0.0.1:9200", "Address of OpenSearch or Elasticsearch; of a cluster several, with commas between."
    )
    index_name: str = _setting("sparc-search", "Name of the index on the server (an alias).")
    user: str = _setting("", "User of the server.")
    password: str = _setting("", "Its password. Never a flag: others can read those.", secret=True)
    password_file: str = _setting("", "File that holds the password.", path=True)
    api_key: str = _setting("", "API key or token of the server, in place of a user. Never a flag.", secret=True)
    api_key_file: str = _setting("", "File that holds the API key.", path=True)
    ca_file: str = _setting("", "Certificates to trust besides the usual ones (PEM).", path=True)
    allow_http: bool = _setting(False, "Talk to other machines without TLS.")
    shards: int = _setting(1, "Shards of a new index on the server.", least=1)
    features_in_source: bool = _setting(
        True, "Keep features readable in `_source` on the server; without, the index is smaller."
    )
    strategy: str = _setting("hybrid", "Who proposes passages.", choices=("hybrid", "sparse", "dense"))
    top_k: int = _setting(5, "Answers to return.", least=1)
    sparse_candidates: int = _setting(20, "Passages proposed by sparse search.", least=1)
    dense_candidates: int = _setting(20, "Passages proposed by dense search.", least=1)
    lex_weight: float = _setting(0.3, "Weight of the lexical part of the score.", least=0)
    first_stage_lex_weight: float = _setting(
        0.3, "Weight of the lexical part where sparse search proposes passages.", least=0
    )
    host: str = _setting("127.0.0.1", "Address that `serve` listens at; other machines need a token.")
    port: int = _setting(8000, "Port that `serve` listens at; 0 takes any that is free.", least=0)
    token: str = _setting("", "Token that clients of `serve` must send. Never a flag.", secret=True)
    token_file: str = _setting("", "File that holds the token of `serve`.", path=True)
    connections: int = _setting(
        500, "Connections that `serve` keeps open; fewer where the process may not open as many files.", least=8
    )
    request_seconds: float = _setting(20.0, "Seconds in which a request to `serve` must have arrived.", least=0.1)
    login_tries: int = _setting(
        10, "Wrong tokens that `serve` takes from one address before that has to wait; 0 for no brake.", least=0
    )
    threads: int = _setting(0, "Processor threads; 0 lets the libraries choose.", least=0)
    log_level: str = _setting(
        "warning", "Least severity that is logged.", choices=("debug", "info", "warning", "error")
    )
    log_format: str = _setting("text", "Logs as text or as one JSON object a line.", choices=("text", "json"))
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    def values(self) -> Iterator[Value]:
        """Every setting with its source, in the order of this class."""
        for key, spec in SPECS.items():
            yield Value(key, getattr(self, key), self.sources.get(key, "default"), spec.metadata["secret"])


@dataclass(frozen=True, slots=True)
class Value:
    """One setting as it is shown."""

    key: str
    value: object
    source: str
    secret: bool = False

    @property
    def shown(self) -> object:
        """The value, fit to be printed: secrets are masked, paths are text."""
        if self.secret and self.value:
            return MASK
        return str(self.value) if isinstance(self.value, Path) else self.value


SPECS: Final[Mapping[str, Field[Any]]] = MappingProxyType({f.name: f for f in fields(Settings) if f.name != "sources"})


def load(
    flags: Mapping[str, object] = MappingProxyType({}),
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user_folder: Path | None = None,
) -> Settings:
    """Gather settings from all sources; the parameters stand in for the process's own environment and folders."""
    environ = os.environ if environ is None else environ
    files = [(user_folder or user_config_folder()) / FILE_NAME, (folder or Path()) / FILE_NAME]
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for found in (*map(_from_file, files), _from_environment(environ), _from_flags(flags)):  # the strongest is last
        for key, (value, source) in found.items():
            values[key], sources[key] = value, source
    return Settings(**values, sources=MappingProxyType(sources))


def user_config_folder() -> Path:
    """The folder of the user's own `sparc-search.toml`."""
    import platformdirs

    return Path(platformdirs.user_config_dir("sparc-search", appauthor=False))


def flag_name(key: str) -> str:
    """The command line's spelling of a key: `top_k` is `--top-k`."""
    return "--" + key.replace("_", "-")


_Found = dict[str, tuple[Any, str]]
_KINDS: Final = {int: "a whole number", float: "a number", bool: "true or false"}


def _from_file(path: Path) -> _Found:
    source = f"file {path}"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "make the file readable or remove it") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigError(f"{path} is not valid TOML: {error}", "correct the file") from error
    return {key: (_checked(key, value, source, path.parent), source) for key, value in table.items()}


def _from_environment(environ: Mapping[str, str]) -> _Found:
    found = {}
    for name, text in environ.items():
        if name.startswith(PREFIX) and text:  # set to nothing is not set
            source = f"environment {name}"
            key = _known(name.removeprefix(PREFIX).lower(), source, spell=lambda key: PREFIX + key.upper())
            found[key] = (_checked(key, _parsed(key, text), source, Path()), source)
    return found


def _from_flags(flags: Mapping[str, object]) -> _Found:
    found = {}
    for key, value in flags.items():
        if value is not None:
            source = f"flag {flag_name(key)}"
            found[key] = (_checked(key, value, source, Path()), source)
    return found


def _known(key: str, source: str, spell: Callable[[str], str] = str) -> str:
    if key in SPECS:
        return key
    near = get_close_matches(key, SPECS, n=1)
    guess = f"did you mean {spell(near[0])}?" if near else f"known are: {', '.join(map(spell, SPECS))}"
    raise ConfigError(f"unknown setting {spell(key)} ({source})", guess)


def _parsed(key: str, text: str) -> object:
    """Text of an environment variable as the type its setting has; what does not fit is left for the check."""
    wanted: Any = type(SPECS[key].default)
    if wanted is bool:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    try:
        return wanted(text) if wanted in (int, float) else text
    except ValueError:
        return text


def _checked(key: str, value: object, source: str, base: Path) -> Any:
    """The value with its right type and in its range; a relative path in a file counts from the file's folder."""
    spec = SPECS[_known(key, source)]
    if isinstance(spec.default, Path) and isinstance(value, str | Path):
        return base / Path(value).expanduser()
    if isinstance(spec.default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(spec.default):
        raise _wrong(key, value, source, _KINDS.get(type(spec.default), "text"))
    if spec.metadata["path"] and value != spec.default:
        return str(base / Path(str(value)).expanduser())
    return _in_range(key, value, source, spec)


def _in_range(key: str, value: Any, source: str, spec: Field[Any]) -> Any:
    choices, least = spec.metadata["choices"], spec.metadata["least"]
    if choices and value not in choices:
        raise _wrong(key, value, source, "one of " + ", ".join(choices))
    if least is not None and not (least <= value < float("inf")):  # NaN fails this too
        raise _wrong(key, value, source, f"{least} or more")
    return value


def _wrong(key: str, value: object, source: str, wanted: str) -> ConfigError:
    shown = MASK if SPECS[key].metadata["secret"] else repr(value)
    return ConfigError(f"{key} is {shown} ({source})", f"it must be {wanted}")
