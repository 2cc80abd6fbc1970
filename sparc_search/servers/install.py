"""Lay out a server's home folder from its artifacts: made once, whole or not at all, then only read."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from filelock import FileLock
from platformdirs import site_cache_path, user_cache_path, user_data_path

from ..errors import ServerError
from .fetch import FetchProgress, fetch, silent
from .products import Product


def cache_folder() -> Path:
    """Where servers are kept: with the user's caches; for root, where the account that runs them may look."""
    return (site_cache_path if os.geteuid() == 0 else user_cache_path)("sparc-search") / "servers"


def data_folder() -> Path:
    """Where the local cluster keeps its data unless told otherwise."""
    above = Path("/var/lib/sparc-search") if os.geteuid() == 0 else user_data_path("sparc-search")
    return above / "opensearch"


def install(product: Product, progress: FetchProgress = silent, cache: Path | None = None) -> Path:
    """The home folder of a product; fetches and unpacks what is not there yet."""
    cache = cache or cache_folder()
    home = cache / product.label
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{product.label}.lock"):
        if not home.is_dir():
            files = [fetch(artifact, cache, progress) for artifact in product.artifacts]
            with tempfile.TemporaryDirectory(dir=cache, prefix=".unpack-") as scratch:
                _lay_out(product, files, Path(scratch) / "home")
                (Path(scratch) / "home").replace(home)
    return home


def _lay_out(product: Product, files: list[Path], home: Path) -> None:
    unpack(files[0], home, strip=1)
    for artifact, file in zip(product.artifacts[1:], files[1:], strict=True):
        folder = home / artifact.folder
        if file.suffix == ".zip":
            unpack(file, folder)
        else:
            folder.mkdir(parents=True)
            shutil.copy(file, folder)
            (folder / "plugin-descriptor.properties").write_text(artifact.descriptor)
    (home / "plugins").mkdir(exist_ok=True)
    for path in (home, *home.rglob("*")):  # whatever root's umask is, the account that runs it must be able to read
        path.chmod(0o755 if path.is_dir() or path.parent.name in ("bin", "tools") else 0o644)


def unpack(archive: Path, target: Path, strip: int = 0) -> None:
    """Every member of a zip file below `target`, without the first `strip` folders of its name."""
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            parts = Path(member.filename).parts[strip:]
            if ".." in parts or Path(member.filename).is_absolute():
                raise ServerError(f"{archive.name} holds a path that leads out of it: {member.filename}")
            path = target.joinpath(*parts)
            if member.is_dir():
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with members.open(member) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
