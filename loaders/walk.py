"""From what the user names (files, folders, globs, `-`) to the files that will be read, and those that will not.

Only plain files are opened. A link that leaves its folder, a FIFO, a device, a folder without rights are one reject
each, so that nothing is lost silently; what the user or the kind of file excludes is one skip each.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sparc_search.errors import ReaderError

from .ignored import Ignored
from .patterns import Filters, compiled

STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Root:
    """Where documents come from: a folder, a file, a glob, standard input, a program's own hands, another index."""

    kind: Literal["folder", "file", "glob", "stdin", "program", "index"]
    path: str = ""
    """Absolute, except for `-`; of a glob the pattern; of a program and an index nothing."""

    def covers(self, source: str) -> bool:
        """Whether a document of this source came from here."""
        match self.kind:
            case "folder":
                return source.startswith(self.path.rstrip("/") + "/")
            case "glob":
                return bool(compiled(self.path).fullmatch(source))
            case _:
                return source == self.path

    @property
    def prefix(self) -> str:
        """What every source from here begins with."""
        return self.path if self.kind != "glob" else self.path[: _first_magic(self.path)]


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read."""

    path: str
    """As the system wants it."""
    name: str
    """What ids are made from: the path from the folder's own name on, the same on every machine."""
    source: str
    """Where it is, for people."""
    root: Root
    size: int = 0


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that will not be read, and why."""

    kind: Literal["rejected", "skipped"]
    source: str
    reason: str
    remedy: str = ""
    root: Root = Root("stdin", STDIN)


def roots(paths: Sequence[str]) -> list[Root]:
    """What each path stands for; `ReaderError` for one that stands for nothing, before anything is read."""
    if not paths:
        raise ReaderError("nothing to read", "name a file, a folder, a glob or - for standard input")
    return [_root(path) for path in paths]


def walk(named: Sequence[Root], filters: Filters) -> Iterator[Found | Passed]:
    """Every file below the roots, in the same order each time."""
    for root in named:
        match root.kind:
            case "stdin":
                yield Found(STDIN, "stdin", STDIN, root)
            case "folder":
                yield from _folder(root.path, _name(root, root.path), root, filters)
            case "file":
                yield from _file(root.path, _name(root, root.path), root)
            case "glob":
                yield from _globbed(root, filters)


def again(root: Root, source: str) -> Iterator[Found | Passed]:
    """What was found at a source of this root in an earlier run, looked at once more."""
    if root.kind == "stdin":
        yield Passed("skipped", source, "standard input cannot be read a second time", root=root)
    elif not os.path.lexists(source):
        yield Passed("skipped", source, "no longer there", root=root)
    elif root.kind == "folder" and os.path.islink(source):
        yield _link(source, root)
    elif os.path.isdir(source):
        below = os.path.relpath(source, root.path)
        yield from _folder(source, _name(root, source), root, Filters(), "" if below == "." else f"{below}/")
    else:
        yield from _file(source, _name(root, source), root)


def _name(root: Root, path: str) -> str:
    """What ids are made from: the path from the root's own last name on."""
    base = root.prefix.rpartition("/")[0] if root.kind in ("glob", "file") else root.path
    below = os.path.relpath(path, base)
    if root.kind == "file" or below == ".":
        return os.path.basename(path)
    return f"{os.path.basename(base)}/{below}".lstrip("/")


def printable(path: str) -> str:
    """A path whose bytes are not UTF-8, as text that can be stored and shown."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _root(path: str) -> Root:
    if path == STDIN:
        return Root("stdin", STDIN)
    absolute = os.path.abspath(os.path.expanduser(path))
    if os.path.isdir(absolute):
        if not _has_files(absolute):
            raise ReaderError(f"the folder {path} is empty", "put files there, or name another folder")
        return Root("folder", absolute)
    if os.path.lexists(absolute):
        return Root("file", absolute)
    if glob.has_magic(path):
        if next(glob.iglob(absolute, recursive=True), None) is None:
            raise ReaderError(f"no file fits {path}", "check the pattern; ** goes into folders")
        return Root("glob", absolute)
    raise ReaderError(f"there is no file or folder {path}", "check the path")


def _has_files(folder: str) -> bool:
    """Whether there is anything but folders; one that cannot be looked into counts, it will be a reject."""
    try:
        with os.scandir(folder) as entries:
            return any(not entry.is_dir(follow_symlinks=False) or _has_files(entry.path) for entry in entries)
    except OSError:
        return True


def _folder(folder: str, name: str, root: Root, filters: Filters, below: str = "") -> Iterator[Found | Passed]:
    pending = [(folder, name, below, Ignored())]  # folders still to open: path, name for ids, path below the root
    while pending:
        here, here_name, below, ignored = pending.pop()
        try:
            with os.scandir(here) as scan:
                entries = sorted(scan, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield _rejected(here, f"cannot look into the folder: {error.strerror}", "give yourself the rights", root)
            continue
        deeper = []
        names = frozenset(entry.name for entry in entries)
        ignored = ignored.below(here, below, names) if filters.ignore else ignored
        for entry in entries:
            relative = f"{below}{printable(entry.name)}"
            entry_name = f"{here_name}/{printable(entry.name)}" if here_name else printable(entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            reason = _why_skipped(entry.name, relative, is_folder, filters)
            if not reason and filters.ignore:
                reason = ignored.why_not(relative, entry.name, here, names, is_folder)
            if reason:
                yield Passed("skipped", printable(entry.path), reason, root=root)
            elif is_folder:
                deeper.append((entry.path, entry_name, f"{relative}/", ignored))
            elif entry.is_symlink():
                yield _link(entry.path, root)
            else:
                yield from _file(entry.path, entry_name, root)
        pending.extend(reversed(deeper))


def _why_skipped(name: str, relative: str, is_folder: bool, filters: Filters) -> str:
    if name.startswith("."):
        return "hidden"
    return filters.why_not(relative, folder=is_folder)


def _link(path: str, root: Root) -> Passed:
    target = os.path.realpath(path)
    if not os.path.exists(target):
        return _rejected(path, "a link that leads nowhere", "remove or repair it", root)
    if f"{target}/".startswith(os.path.realpath(root.path).rstrip("/") + "/"):
        return Passed("skipped", printable(path), "a link to what is read at its own place", root=root)
    return _rejected(path, f"a link out of the folder, to {printable(target)}", "name its target as well", root)


def _file(path: str, name: str, root: Root) -> Iterator[Found | Passed]:
    try:
        status = os.stat(path)
    except OSError as error:
        yield _rejected(path, f"cannot be read: {error.strerror}", "check that it is there and its rights", root)
        return
    if stat.S_ISREG(status.st_mode):
        yield Found(path, printable(name), printable(path), root, status.st_size)
    else:
        yield _rejected(path, f"not a file but {_kind(status.st_mode)}", "pipe it in and name it -", root)


def _globbed(root: Root, filters: Filters) -> Iterator[Found | Passed]:
    base = root.prefix.rpartition("/")[0]
    for path in sorted(glob.iglob(root.path, recursive=True), key=os.fsencode):
        if os.path.isdir(path):
            continue  # its files have paths of their own
        relative = printable(os.path.relpath(path, base))
        if reason := _why_skipped(os.path.basename(path), relative, False, filters):
            yield Passed("skipped", printable(path), reason, root=root)
        else:
            yield from _file(path, _name(root, path), root)


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a FIFO", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "something else")


def _rejected(path: str, reason: str, remedy: str, root: Root) -> Passed:
    return Passed("rejected", printable(path), reason, remedy, root)


def _first_magic(pattern: str) -> int:
    return min((pattern.index(mark) for mark in "*?[" if mark in pattern), default=len(pattern))
