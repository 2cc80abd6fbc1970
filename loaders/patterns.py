"""Glob patterns over paths: `*` within a name, `**` across folders, `?`, `[…]`. For --include, --exclude and PATH."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from sparc_search.errors import UsageError


@dataclass(frozen=True, slots=True)
class Filters:
    """Which files of a folder are wanted; a pattern without a slash is about names, one with a slash about paths."""

    include: Sequence[str] = field(default=())
    exclude: Sequence[str] = field(default=())
    ignore: bool = True
    """Leave out what .gitignore names, packages, virtual environments and build results."""

    def why_not(self, path: str, *, folder: bool = False) -> str:
        """Why the file (or a whole folder) at this path below the root is left out; nothing if it is wanted."""
        for pattern in self.exclude:
            if fits(pattern, path):
                return f"left out by --exclude {pattern}"
        if folder or not self.include or any(fits(pattern, path) for pattern in self.include):
            return ""
        return f"not named by --include {' '.join(self.include)}"


def fits(pattern: str, path: str) -> bool:
    """Whether a path below a root fits a pattern."""
    pattern = pattern.rstrip("/")
    subject = path if "/" in pattern else PurePosixPath(path).name
    return bool(compiled(pattern.lstrip("/")).fullmatch(subject))


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """A glob pattern as a regular expression for a whole path."""
    out, position = [], 0
    for match in re.finditer(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]", pattern):
        out.append(re.escape(pattern[position : match.start()]))
        out.append(_TRANSLATED.get(match[0]) or "[" + match[0][1:].replace("!", "^", match[0][1] == "!"))
        position = match.end()
    out.append(re.escape(pattern[position:]))
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error as error:
        raise UsageError(f"bad pattern {pattern!r}: {error}", "use * ** ? and [abc]") from error


_TRANSLATED = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
