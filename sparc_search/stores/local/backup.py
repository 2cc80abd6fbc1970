"""Backups: a copy of one committed state, made while others read and write, and known to be whole.

    backup.json     format, model, generation, counts, and size and sha256 of every file
    index.db        SQLite's online copy
    segments/       the files of the segments it lists

A backup is a folder, or the same in a tar file. It is verified after it was copied, row by row, and its sums are
checked again before it is restored.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final
from uuid import uuid4

from ...errors import DiskFull, IndexDamaged, IndexFailure, UsageError
from ..derived_files import Files, check_sums, checksum, replace_text, sync_all
from . import database, layout
from .points import reach
from .segment_files import listed_segments
from .verify import verify

MANIFEST: Final = "backup.json"
TAR: Final = (".tar", ".tar.gz", ".tgz")
"""Endings of a backup in one file; all but the first are compressed."""

_KIND: Final = "sparc-search-backup"
_TRIES: Final = 20
_PART: Final = re.compile(r"backup\.json|index\.db|segments/[0-9]+/[a-z_]+\.(npy|faiss|json)")
"""Files of a backup; whatever else lies there is not looked at, and a tar file that holds it is none."""
_FACTS: Final = ("encoder", "generation", "documents", "passages", "words")


# --- making one ------------------------------------------------------------------------------------------------------


def back_up(folder: Path, target: Path) -> dict[str, object]:
    """Copy the committed state of an index to a new folder, or to a new tar file; what was copied.

    `IndexDamaged` if the copy is not whole; then nothing is left of it.
    """
    if target.exists():
        raise UsageError(f"{target} is there already", "name a new folder, or a new file that ends in .tar or .tar.gz")
    with database.translated(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            copy = Path(scratch) / "backup"
            (copy / layout.SEGMENTS).mkdir(parents=True)
            facts = _copied(folder, copy)
            for problem in verify(copy).problems:
                raise IndexDamaged(
                    f"the index is damaged, and so would be its backup: {problem.where}: {problem.what}",
                    "`sparc-search index verify --repair` makes again what it can and names the rest",
                )
            manifest = {**facts, "files": _files(copy)}
            replace_text(copy / MANIFEST, json.dumps({**manifest, "sum": _sum(manifest)}, indent=1) + "\n")
            reach("backup verified")
            _put(copy, target)
    return {**facts, "files": len(_listed(manifest)), "bytes": sum(size for size, _ in _listed(manifest).values())}


def _copied(folder: Path, copy: Path) -> dict[str, object]:
    """Copy one state. A writer may replace segments just then: that is a newer state, so again."""
    for _ in range(_TRIES):
        with closing(database.connect(folder, writable=False, mapped=False)) as connection, ExitStack() as held:
            connection.execute("BEGIN")
            facts = database.read_meta(connection)
            try:
                opened = {path: held.enter_context(path.open("rb")) for path in _segment_files(connection, folder)}
            except FileNotFoundError as error:
                missing = error
                continue
            _copy_database(connection, copy / database.FILE)
            for path, stream in opened.items():
                _copy_stream(stream, copy / path.relative_to(folder))
            made = {"kind": _KIND, "format": database.FORMAT, "date": datetime.now(UTC).isoformat(timespec="seconds")}
            return {**made, **{name: facts[name] for name in _FACTS}}
    raise IndexDamaged(f"{missing.filename} is missing", "`sparc-search index verify --repair` makes it again")


def _segment_files(connection: sqlite3.Connection, folder: Path) -> Iterator[Path]:
    for segment in listed_segments(connection):
        for name in segment.files:
            path = folder / layout.SEGMENTS / segment.name / name
            database.refuse_link(path)
            yield path


def _copy_database(connection: sqlite3.Connection, path: Path) -> None:
    """The state that the connection's transaction sees, as one file without a log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def _copy_stream(stream: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)


def _files(folder: Path) -> Files:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.stat().st_size, checksum(path)) for path in paths}


def _sum(manifest: Mapping[str, object]) -> str:
    """Of what a manifest says, in whatever order."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _put(copy: Path, target: Path) -> None:
    """Bring a finished backup to its place in one step."""
    if not target.name.endswith(TAR):
        _sync(copy)
        copy.rename(target)
        return
    draft = copy.with_name("draft")
    with tarfile.open(draft, "w" if target.suffix == TAR[0] else "w:gz") as archive:
        for path in sorted(copy.rglob("*")):
            if path.is_file():
                archive.add(path, path.relative_to(copy).as_posix())
    _sync(draft.parent)
    draft.rename(target)


def _sync(folder: Path) -> None:
    for directory in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        sync_all(directory)


# --- bringing one back -----------------------------------------------------------------------------------------------


def restore(location: Path, source: Path, *, replace: bool) -> dict[str, object]:
    """Make a backup the index at a place, in one step; what it holds. What was there serves until then."""
    with database.translated(location), _unpacked(source, location) as folder:
        manifest = _read_manifest(folder, source)
        _check(folder, manifest, source)
        held = layout.lock(location)
        try:
            if layout.has_versions(location) and not replace:
                raise UsageError(f"there is an index at {location}", "name another place, or say --replace")
            new = layout.free_folder(location)
            layout.clear(new)
            for name in _listed(manifest):
                with (folder / name).open("rb") as stream:
                    _copy_stream(stream, new / name)
            _check(new, manifest, source)
            _bring_to_life(new)
            _sync(new)
            reach("rebuilt beside")
            layout.switch(location, new)
            reach("switched")
            layout.remove_old(location)
        finally:
            held.release()
    return {name: manifest[name] for name in ("date", *_FACTS)}


@contextmanager
def _unpacked(source: Path, location: Path) -> Iterator[Path]:
    """The folder of a backup."""
    if (source / MANIFEST).is_file():
        yield source
        return
    if source.is_dir():
        raise _not_whole(source, f"it has no {MANIFEST}")
    if not source.is_file():
        raise UsageError(f"there is no backup at {source}", "name a folder or a file that `index backup` made")
    location.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{location.name}-", dir=location.parent) as scratch:
        try:
            with tarfile.open(source) as archive:
                _extract(archive, Path(scratch))
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise _not_whole(source, str(error).partition("\n")[0]) from error
        except OSError as error:
            if error.errno is None:  # gzip says so of what is not gzip, or not all of it
                raise _not_whole(source, str(error)) from error
            raise
        yield Path(scratch)


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of a tar file, of which nothing but what a backup has is taken: no links, no other places."""
    for member in archive:
        if not member.isfile() or not _PART.fullmatch(member.name):
            raise ValueError(f"{member.name!r} is no part of a backup")
        if member.size > shutil.disk_usage(folder).free:
            raise DiskFull(f"{member.name} of the backup has {member.size:,} bytes: too many", f"make room at {folder}")
        stream = archive.extractfile(member)
        assert stream is not None  # it is a file
        _copy_stream(stream, folder / member.name)


def _read_manifest(folder: Path, source: Path) -> Mapping[str, object]:
    try:
        manifest: dict[str, object] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        whole = manifest.pop("sum") == _sum(manifest) and manifest["kind"] == _KIND
        _listed(manifest)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _not_whole(source, f"{MANIFEST} cannot be read") from error
    if not whole:
        raise _not_whole(source, f"{MANIFEST} has changed bytes")
    if manifest["format"] != database.FORMAT:
        raise IndexFailure(
            f"the backup at {source} has format {manifest['format']}, this version restores {database.FORMAT}",
            "restore it with the version that made it, then run `sparc-search index upgrade`",
        )
    return manifest


def _listed(manifest: Mapping[str, object]) -> Files:
    files = manifest["files"]
    if not isinstance(files, dict) or database.FILE not in files:
        raise ValueError("no files are listed")
    if strange := [name for name in files if not _PART.fullmatch(name)]:
        raise ValueError(f"{strange[0]!r} is no part of a backup")
    return {name: (int(size), str(sum)) for name, (size, sum) in files.items()}


def _check(folder: Path, manifest: Mapping[str, object], source: Path) -> None:
    try:
        check_sums(folder, _listed(manifest))
    except IndexDamaged as error:
        raise _not_whole(source, error.message) from error


def _not_whole(source: Path, why: str) -> IndexDamaged:
    return IndexDamaged(f"the backup at {source} is not whole: {why}", "take another; nothing has been changed")


def _bring_to_life(folder: Path) -> None:
    """What was derived elsewhere from a later state must not be taken for that of this one: it is another index."""
    with database.opened(folder, writable=True) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with database.transaction(connection):
            database.write_meta(connection, clean=1, identity=uuid4().hex)
