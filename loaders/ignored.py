"""What a folder holds that nobody means by it: packages, virtual environments, build results, what .gitignore names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_NEVER_MEANT: Final = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages"))
_BUILT: Final = frozenset(("build", "dist", "target", "out", "_build"))
_PROJECT: Final = frozenset((
    "package.json", "pyproject.toml", "setup.py", "setup.cfg", "Cargo.toml", "pom.xml", "build.gradle",
    "CMakeLists.txt", "Makefile", "conf.py",
))  # fmt: skip
_NAMED, _RESULTS, _ENVIRONMENT = "named by .gitignore", "a folder of build results", "a virtual environment"
_FOLDER: Final = "a folder "
_MOST_RULES: Final = 1 << 20  # bytes of a .gitignore
_MOST_STARS: Final = 3
"""In one rule. Each more takes a hostile rule fifty times as long for a name; a rule with more is passed over."""

_STARS: Final = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class Ignored:
    """The rules for what is below a folder: those of its .gitignore, and those of the folders above it."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """Each with the path of its folder below the root, as it is put before names."""

    def below(self, folder: str, path: str, names: Iterable[str]) -> Ignored:
        """The rules in a folder; `path` is its path below the root, empty or with a slash at its end."""
        if ".gitignore" not in names:
            return self
        from pathspec import GitIgnoreSpec

        rules = os.path.join(folder, ".gitignore")
        if not os.path.isfile(rules):  # whoever opens a pipe waits for somebody to write
            return self
        try:
            with open(rules, encoding="utf-8", errors="replace") as file:
                lines = file.read(_MOST_RULES).splitlines()
            spec = GitIgnoreSpec.from_lines(line for line in lines if len(_STARS.findall(line)) <= _MOST_STARS)
        except (OSError, ValueError):
            return self  # rules that cannot be read leave nothing out
        return Ignored((*self.specs, (path, spec)))

    def why_not(self, path: str, name: str, folder: str, siblings: frozenset[str], is_folder: bool) -> str:
        """Why a file or folder is left out; nothing if it is not. `folder` is where it stands."""
        if is_folder and (reason := _by_name(name, os.path.join(folder, name), siblings)):
            return reason
        for before, spec in self.specs:
            if spec.match_file(path.removeprefix(before) + ("/" if is_folder else "")):
                return _NAMED
        return ""


def is_ignored(reason: str) -> bool:
    """Whether this is why something was left out here, and not for another reason."""
    return reason in (_NAMED, _RESULTS, _ENVIRONMENT) or reason.removeprefix(_FOLDER) in _NEVER_MEANT


def _by_name(name: str, path: str, siblings: frozenset[str]) -> str:
    if name in _NEVER_MEANT:
        return f"{_FOLDER}{name}"
    if name in _BUILT and siblings & _PROJECT:
        return _RESULTS
    return _ENVIRONMENT if os.path.exists(os.path.join(path, "pyvenv.cfg")) else ""
