"""A disk as its log tells it, and what it may hold after a power cut.

What was synced is there. Of what was not: each write may be there or not, whichever came first, and may be torn between
sectors; changes of one folder's entries are there up to some moment, in their order; one folder, or file, says nothing
of another.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final, NamedTuple

SECTOR: Final = 512
_HEAD: Final = struct.Struct("<cIIQQ")
_UNLOGGED: Final = "-shm"
"""SQLite's shared memory, which is made anew when it is missing."""


class Change(NamedTuple):
    """One record of the log; kinds are those of shim.c, and M is a mark."""

    kind: str
    path: str
    other: str
    number: int
    data: bytes


def read_log(log: Path) -> list[Change]:
    """All changes, in their order."""
    data, at, found = log.read_bytes(), 0, []
    while at < len(data):
        kind, first, second, number, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        path, other = data[at : at + first].decode(), data[at + first : at + first + second].decode()
        at += first + second
        found.append(Change(kind.decode(), path, other, number, data[at : at + length]))
        at += length
    return found


@dataclass(slots=True, eq=False)
class File:
    """Bytes that are safe, and what was done since."""

    safe: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and data of a write; without data, a new length."""

    def sync(self) -> None:
        """Everything is safe."""
        self.safe, self.pending = _applied(self.safe, self.pending), []

    def survived(self, chance: random.Random, keep: float) -> bytes:
        """What is there after a power cut."""
        kept = [_torn(change, chance) for change in self.pending if chance.random() < keep]
        return _applied(self.safe, kept)


@dataclass(slots=True, eq=False)
class Folder:
    """Entries that are safe, and how they changed since."""

    now: dict[str, File | Folder] = field(default_factory=dict)
    safe: dict[str, File | Folder] = field(default_factory=dict)
    pending: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def change(self, **entries: File | Folder | None) -> None:
        """Entries come and go, all of them at once."""
        self.pending.append(entries)
        _enter(self.now, entries)

    def sync(self) -> None:
        """Everything is safe."""
        self.safe, self.pending = dict(self.now), []

    def survived(self, chance: random.Random, keep: float) -> dict[str, File | Folder]:
        """What is there after a power cut."""
        entries = dict(self.safe)
        until = round(len(self.pending) * keep) if keep in (0.0, 1.0) else chance.randint(0, len(self.pending))
        for change in self.pending[:until]:
            _enter(entries, change)
        return entries


class Disk:
    """Everything below a folder that is there and safe from the beginning."""

    def __init__(self, root: Path) -> None:
        self._root_path = PurePath(root.resolve())
        self._root = Folder()

    def apply(self, change: Change) -> None:
        """One more change."""
        if change.kind == "M" or change.path.endswith(_UNLOGGED):
            return
        parent, name = self._place(change.path)
        if change.kind in "CD":
            parent.change(**{name: File() if change.kind == "C" else Folder()})
        elif change.kind == "U":
            parent.change(**{name: None})
        elif change.kind == "R":
            self._rename(parent, name, *self._place(change.other))
        else:
            self._write(self._root if not name else parent.now.get(name), change)

    def _rename(self, parent: Folder, name: str, target: Folder, new: str) -> None:
        moved = parent.now[name]
        if target is parent:
            parent.change(**{name: None, new: moved})
        else:
            target.change(**{new: moved})
            parent.change(**{name: None})

    def _write(self, entry: File | Folder | None, change: Change) -> None:
        if entry is None:
            return  # it was deleted while it was open
        if change.kind == "S":
            entry.sync()
        elif isinstance(entry, File):
            entry.pending.append((change.number, change.data if change.kind == "W" else None))

    def _place(self, path: str) -> tuple[Folder, str]:
        """The folder of an entry, and its name in it; no name for the root."""
        *parts, name = PurePath(path).relative_to(self._root_path).parts or ("",)
        folder = self._root
        for part in parts:
            inner = folder.now.get(part)
            folder = inner if isinstance(inner, Folder) else Folder()  # of something that was deleted: nobody sees it
        return folder, name

    def after_power_cut(self, target: Path, chance: random.Random, keep: float) -> None:
        """Write down one of the states that it may be in; `keep` is how likely it is that what was not synced is there.

        With 1 everything is, as after a process was killed; with 0 nothing is.
        """
        for path, entry in _walk(self._root, target, chance, keep):
            if isinstance(entry, Folder):
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(entry.survived(chance, keep))


def _walk(folder: Folder, path: Path, chance: random.Random, keep: float) -> Iterator[tuple[Path, File | Folder]]:
    yield path, folder
    for name, entry in sorted(folder.survived(chance, keep).items()):
        if isinstance(entry, Folder):
            yield from _walk(entry, path / name, chance, keep)
        else:
            yield path / name, entry


def _enter(entries: dict[str, File | Folder], change: dict[str, File | Folder | None]) -> None:
    for name, entry in change.items():
        if entry is None:
            entries.pop(name, None)
        else:
            entries[name] = entry


def _applied(safe: bytes, changes: list[tuple[int, bytes | None]]) -> bytes:
    content = bytearray(safe)
    for offset, data in changes:
        if data is None:
            del content[offset:]
            content.extend(bytes(offset - len(content)))
        else:
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
    return bytes(content)


def _torn(change: tuple[int, bytes | None], chance: random.Random) -> tuple[int, bytes | None]:
    """A write of which only some of the sectors, the first or the last, have reached the disk; most are whole."""
    offset, data = change
    if data is None or len(data) <= SECTOR or chance.random() < 0.8:
        return change
    cut = SECTOR * chance.randrange(1, -(-len(data) // SECTOR))
    return (offset, data[:cut]) if chance.random() < 0.5 else (offset + cut, data[cut:])
