"""Get one artifact by its coordinates, once, through the Maven that is installed; nothing unpinned is kept."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from ..errors import ServerError
from .products import Artifact

FetchProgress = Callable[[str, int, int], None]
"""Called with what is being fetched, the bytes that are there, and all its bytes."""

POLL_SECONDS = 0.3


def silent(what: str, done: int, total: int) -> None:
    """A listener that shows no progress."""


def fetch(artifact: Artifact, cache: Path, progress: FetchProgress = silent) -> Path:
    """The artifact's file in `cache`; only a file with the pinned hash ever gets there."""
    target = cache / artifact.file_name
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "fetch.lock"):
        if not target.is_file():
            with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as scratch:
                copied = _download(artifact, Path(scratch), progress)
                check_hash(artifact, copied)
                copied.replace(target)
    return target


def check_hash(artifact: Artifact, path: Path) -> None:
    """Refuse a file that is not the one that was pinned."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != artifact.sha256:
        raise ServerError(
            f"{path.name} is not the file that is known: sha256 {digest[:12]}… instead of {artifact.sha256[:12]}…",
            "do not use it; a proxy or the registry has changed it",
        )


def _download(artifact: Artifact, scratch: Path, progress: FetchProgress) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError(
            f"getting {artifact.file_name} needs Apache Maven, and there is no `mvn`",
            "install it (Debian: apt install maven; macOS: brew install maven)",
        )
    command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact.coordinates}"]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        client = subprocess.Popen([*command, f"-DoutputDirectory={scratch}"], cwd=scratch, stdout=output, stderr=output)
        try:
            while client.poll() is None:
                progress(artifact.file_name, min(_arrived(artifact, scratch), artifact.size), artifact.size)
                time.sleep(POLL_SECONDS)
        finally:
            client.terminate()  # only matters after Ctrl-C
            client.wait()
        copied = scratch / artifact.file_name
        if client.returncode or not copied.is_file():
            output.seek(0)
            reason = next((line.strip() for line in output if "ERROR" in line), f"exit code {client.returncode}")
            raise ServerError(
                f"mvn could not get {artifact.coordinates}: {reason}", "is a Maven registry within reach?"
            )
    progress(artifact.file_name, artifact.size, artifact.size)
    return copied


def _arrived(artifact: Artifact, scratch: Path) -> int:
    """Bytes so far: Maven collects a file in its own repository under a temporary name, then copies it here."""
    group, name, version, _ = artifact.coordinates.split(":")
    repository = Path.home() / ".m2" / "repository"
    folders = (scratch, repository.joinpath(*group.split("."), name, version))
    sizes = [_size(path) for folder in folders if folder.is_dir() for path in folder.glob(f"{artifact.file_name}*")]
    return max(sizes, default=0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed while we looked
        return 0
