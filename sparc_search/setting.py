"""One setting as its owner declares it: the core in `settings.py`, a plugin in its attribute `settings`.

QDRANT_URL = Setting("qdrant_url", "http://127.0.0.1:6333", "Address of Qdrant.")
QDRANT_URL.parsed("http://db:6333")     text of an environment variable as the type of the default
QDRANT_URL.checked(7, "flag --x", Path())   ConfigError: it must be text
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .errors import ConfigError

PREFIX: Final = "SPARC_SEARCH_"
MASK: Final = "********"
_KINDS: Final = {int: "a whole number", float: "a number", bool: "true or false"}
_LARGEST: Final = 2**63 - 1
"""Of a whole number: no more can be counted with."""
_WORDS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """A name, a default whose type is the setting's type (text, int, float, bool or Path), and what to know of it."""

    name: str
    default: Any
    help: str = field(compare=False)
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float = float("inf")
    path: bool = False
    """`~` is the home folder, and in a file a relative path counts from the file's folder."""
    secret: bool = False
    """Never shown, and never a flag: other users of the machine can read those."""
    harmless: bool = False
    """A folder's own file may set it before the user trusts the folder (a path: only inside of it). See SECURITY.md."""

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.islower() and self.name.isascii()):
            raise ConfigError(f"no setting can be called {self.name!r}", "take small letters, digits and underscores")
        if not isinstance(self.default, str | int | float | Path):
            raise ConfigError(
                f"the default of {self.name} is {self.default!r}", "take text, a number, true, false or a path"
            )

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """Its spelling on the command line: `top_k` is `--top-k`."""
        return "--" + self.name.replace("_", "-")

    def parsed(self, text: str) -> object:
        """Text of an environment variable as the type of the default; what does not fit is left for the check."""
        kind = type(self.default)
        try:
            return _WORDS.get(text.lower(), text) if kind is bool else kind(text) if kind in (int, float) else text
        except ValueError:
            return text

    def checked(self, value: object, source: str, base: Path) -> Any:
        """The value with its right type and in its range; a relative path counts from `base`."""
        if isinstance(value, str) and "\0" in value:
            raise self._wrong(value, source, "text without a zero character")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise ConfigError(f"{self.name} is too large a number ({source})", f"take one of at most {_LARGEST}")
        if isinstance(self.default, Path) and isinstance(value, str | Path):
            return base / os.path.expanduser(value)
        if isinstance(self.default, float) and type(value) is int:
            value = float(value)
        if type(value) is not type(self.default):
            raise self._wrong(value, source, _KINDS.get(type(self.default), "text"))
        if self.path and value != self.default:
            return str(base / os.path.expanduser(str(value)))
        return self._in_range(value, source)

    def _in_range(self, value: Any, source: str) -> Any:
        if self.choices and value not in self.choices:
            raise self._wrong(value, source, "one of " + ", ".join(self.choices))
        if self.least is not None and not (self.least <= value <= self.most and value < float("inf")):  # nor NaN
            up_to = f"from {self.least} to {self.most}" if self.most < float("inf") else f"{self.least} or more"
            raise self._wrong(value, source, up_to)
        return value

    def _wrong(self, value: object, source: str, wanted: str) -> ConfigError:
        shown = MASK if self.secret else repr(value)
        return ConfigError(f"{self.name} is {shown} ({source})", f"it must be {wanted}")
