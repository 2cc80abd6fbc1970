"""Get the packages of the corpus and unpack the listed files, each package into a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sparc_search.cli.terminal import note
from sparc_search.errors import NotThere, UsageError

from .records import Package

SNAPSHOT = "Debian's archive of snapshots"
"""It keeps every version that the mirrors have ever had."""


def fetch(packages: Iterable[Package], corpus: Path, source: Path | None = None) -> None:
    """Unpack the files of each package below `corpus`; from `.deb` files in `source`, or else from Debian's mirrors."""
    for package in packages:
        if all((corpus / package.name / path).is_file() for path in package.paths()):
            continue
        note(f"{package.name} {package.version} ...")
        with tempfile.TemporaryDirectory() as folder:
            unpack(package, _in_folder(package, source) if source else _downloaded(package, Path(folder)), corpus)


def unpack(package: Package, archive: Path, corpus: Path) -> None:
    """Write the listed files of one `.deb` below `corpus`, and nothing else of it."""
    _needed("dpkg-deb", "install the package dpkg")
    missing = set(package.paths())
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as members,
    ):
        for member in members:
            path = member.name.removeprefix("./")
            content = members.extractfile(member) if path in missing and member.isreg() else None
            if content is not None:
                target = corpus / package.name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
                missing.remove(path)
    if missing:
        raise NotThere(f"{archive.name} has no {sorted(missing)[0]}", f"take version {package.version} of it")


def _downloaded(package: Package, folder: Path) -> Path:
    remedy = f"download {package.name} {package.version} from {SNAPSHOT} and say --from FOLDER"
    _needed("apt-get", remedy)
    command = ["apt-get", "download", "--quiet", "--quiet", f"{package.name}={package.version}"]
    if subprocess.run(command, cwd=folder).returncode:
        raise NotThere(
            f"apt-get cannot download {package.name} {package.version}", f"run `apt-get update`, or {remedy}"
        )
    return _in_folder(package, folder)


def _in_folder(package: Package, folder: Path) -> Path:
    wanted = f"{package.name}_{package.version.replace(':', '%3a')}_*.deb"
    found = sorted(folder.glob(wanted))
    if not found:
        raise NotThere(f"there is no {wanted} in {folder}", f"get it from {SNAPSHOT}")
    return found[0]


def _needed(program: str, remedy: str) -> None:
    if not shutil.which(program):
        raise UsageError(f"{program} is not installed", remedy)
